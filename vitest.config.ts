import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // Worker threads crash with the Temporal SDK's native module when the second file loads it.
    pool: 'forks',
    // Real servers share two cores in CI: two files at once keep every deadline meaningful.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    projects: [
      {
        extends: true,
        test: { name: 'alone', include: ['test/unit/**/*.test.ts', 'test/replay/**/*.test.ts'] },
      },
      {
        // Real PostgreSQL and Temporal: started only when a test of this project runs.
        extends: true,
        test: {
          name: 'servers',
          include: ['test/{conformance,integration,crash}/**/*.test.ts'],
          globalSetup: 'test/support/global-setup.ts',
        },
      },
    ],
  },
});
