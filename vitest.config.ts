import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // Worker threads crash with the Temporal SDK's native module when the second file loads it.
    pool: 'forks',
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/support/global-setup.ts',
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Real servers share two cores in CI: two files at once keep every deadline meaningful.
    maxWorkers: 2,
  },
});
