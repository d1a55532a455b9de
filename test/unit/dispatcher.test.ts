import { describe, expect, it } from 'vitest';
import { inertCheckpoints } from '../../src/checkpoints.js';
import { createDispatcher, type Dispatcher } from '../../src/dispatch/dispatcher.js';
import { createLogger } from '../../src/observability/logger.js';
import { createMetrics } from '../../src/observability/metrics.js';

const event = (n: number): { scope: string; eventId: string; eventType: string } => ({
  scope: 's',
  eventId: `e${n}`,
  eventType: 't',
});

interface Bench {
  readonly dispatcher: Dispatcher;
  readonly begun: string[];
  /** Ends the oldest start under way. */
  readonly finishOne: (outcome?: 'fails') => void;
  readonly metrics: ReturnType<typeof createMetrics>;
}

function bench(): Bench {
  const begun: string[] = [];
  const open: ((outcome?: 'fails') => void)[] = [];
  const metrics = createMetrics();
  const dispatcher = createDispatcher({
    startEvent: ({ eventId }) => {
      begun.push(eventId);
      return new Promise((resolve, reject) => {
        open.push((outcome) => {
          if (outcome === 'fails') reject(new Error('unavailable'));
          else resolve();
        });
      });
    },
    checkpoints: inertCheckpoints,
    log: createLogger('silent', 'test'),
    metrics,
  });
  return { dispatcher, begun, finishOne: (outcome) => open.shift()?.(outcome), metrics };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function started(metrics: Bench['metrics'], result: string): Promise<number> {
  const { values } = await metrics.starts.get();
  return values.find(({ labels }) => labels.result === result)?.value ?? 0;
}

describe('the dispatcher', () => {
  it('has a bounded number of starts under way, and goes on in order as they end', async () => {
    const { dispatcher, begun, finishOne } = bench();
    for (let n = 0; n < 40; n += 1) dispatcher.dispatch(event(n));
    await turn();
    expect(begun).toHaveLength(32);
    finishOne();
    finishOne('fails');
    await turn();
    expect(begun.slice(32)).toEqual(['e32', 'e33']);
  });

  it('leaves to the sweeper what does not fit', async () => {
    const { dispatcher, metrics } = bench();
    for (let n = 0; n < 600; n += 1) dispatcher.dispatch(event(n));
    expect(await started(metrics, 'skipped')).toBe(600 - 32 - 500);
  });

  it('stops when what is under way has ended, and begins nothing more', async () => {
    const { dispatcher, begun, finishOne } = bench();
    for (let n = 0; n < 33; n += 1) dispatcher.dispatch(event(n));
    await turn();
    let stopped = false;
    const stopping = dispatcher.stop().then(() => (stopped = true));
    await turn();
    expect(stopped).toBe(false);
    for (let n = 0; n < 32; n += 1) finishOne();
    await stopping;
    dispatcher.dispatch(event(99));
    await turn();
    expect(begun).toHaveLength(32);
  });
});
