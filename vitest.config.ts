import { defineConfig } from 'vitest/config';

/**
 * Against real servers with real deadlines, a machine that is busy with something else can make a sound test late once.
 * Once more is allowed in CI, and vitest says so in its report; what is wrong fails twice.
 */
const RETRIES = process.env.CI === 'true' ? 1 : 0;

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
          include: ['test/{conformance,integration}/**/*.test.ts'],
          exclude: ['test/integration/outage-*.test.ts'],
          globalSetup: 'test/support/global-setup.ts',
          retry: RETRIES,
        },
      },
      {
        // Whole stacks of processes and servers that are killed and stopped: last, and one file at a time.
        extends: true,
        test: {
          name: 'processes',
          include: ['test/crash/**/*.test.ts', 'test/integration/outage-*.test.ts'],
          globalSetup: 'test/support/global-setup.ts',
          sequence: { groupOrder: 1 },
          maxWorkers: 1,
          maxConcurrency: 3,
          retry: RETRIES,
        },
      },
    ],
  },
});
