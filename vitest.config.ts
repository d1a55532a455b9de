import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Against real servers with real deadlines, a machine that is busy with something else can make a sound test late once.
 * Once more is allowed in CI, and vitest says so in its report; what is wrong fails twice.
 */
const RETRIES = process.env.CI === 'true' ? 1 : 0;

/** Files that take longest, though some are short to read: begun last, one of them would run alone at the end. */
const LONGEST = [
  'signal-workflow-interleavings',
  'dev-stack',
  'order-schedules-database',
  'operations-commands',
  'upgrade-versions',
  'upgrade-check',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
      return at === -1 ? LONGEST.length : at;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    // Worker threads crash with the Temporal SDK's native module when the second file loads it.
    pool: 'forks',
    // Real servers share two cores in CI: two files at once keep every deadline meaningful.
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
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
        // Whole stacks of processes and servers that are killed and stopped: last, and one file at a time. They mostly wait,
        // for what a dead process leaves to time out, so that six stacks of one file share two cores well.
        extends: true,
        test: {
          name: 'processes',
          include: ['test/crash/**/*.test.ts', 'test/integration/outage-*.test.ts'],
          globalSetup: 'test/support/global-setup.ts',
          sequence: { groupOrder: 1 },
          maxWorkers: 1,
          maxConcurrency: 6,
          retry: RETRIES,
        },
      },
    ],
  },
});
