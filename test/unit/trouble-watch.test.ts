import { describe, expect, it } from 'vitest';
import { createLogger } from '../../src/observability/logger.js';
import { createMetrics } from '../../src/observability/metrics.js';
import { createTroubleWatch } from '../../src/observability/trouble-watch.js';

const MINUTE = 60_000;

function watched(): {
  watch: ReturnType<typeof createTroubleWatch>;
  at: (ms: number) => void;
  alarms: string[];
  seconds: () => Promise<number>;
} {
  let clock = 0;
  const alarms: string[] = [];
  const metrics = createMetrics();
  const log = createLogger('error', 'test', { write: (line) => alarms.push(line) });
  return {
    watch: createTroubleWatch(log, metrics, () => clock),
    at: (ms) => {
      clock = ms;
    },
    alarms,
    seconds: async () => (await metrics.infrastructureTroubleSeconds.get()).values[0]?.value ?? 0,
  };
}

describe('trouble of the infrastructure', () => {
  it('is no alarm for ten minutes, then one a minute', () => {
    const { watch, at, alarms } = watched();
    watch.failed();
    at(10 * MINUTE - 1);
    watch.failed();
    expect(alarms).toHaveLength(0);
    at(10 * MINUTE);
    watch.failed();
    at(10 * MINUTE + 30_000);
    watch.failed();
    expect(alarms).toHaveLength(1);
    at(11 * MINUTE);
    watch.failed();
    expect(alarms).toHaveLength(2);
  });

  it('ends with the first success, and is counted anew', async () => {
    const { watch, at, alarms, seconds } = watched();
    watch.failed();
    at(9 * MINUTE);
    watch.failed();
    expect(await seconds()).toBe(540);
    watch.succeeded();
    expect(await seconds()).toBe(0);
    at(12 * MINUTE);
    watch.failed();
    expect(alarms).toHaveLength(0);
  });
});
