import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    pool: 'forks',
    include: ['test/bench/bench.ts'],
    globalSetup: 'test/support/global-setup.ts',
    hookTimeout: 120_000,
    disableConsoleIntercept: true,
  },
});
