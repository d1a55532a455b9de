import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // Worker threads crash with the Temporal SDK's native module when the second file loads it.
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
