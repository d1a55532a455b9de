import { expect, test } from 'vitest';
import { createLogger } from '../../src/observability/logger.js';
import { pollTemporal } from '../../src/service/poll-temporal.js';
import type { RunningWorker } from '../../src/temporal/create-worker.js';

/** A worker that runs until it is shut down, or ends by itself. */
function workerThat(endsBy: 'itself' | 'shutdown', closed: string[]): RunningWorker {
  let shutdown: () => void = () => undefined;
  const over = new Promise<void>((resolve) => (shutdown = resolve));
  return {
    run: () => (endsBy === 'itself' ? Promise.resolve() : over),
    shutdown: () => {
      shutdown();
    },
    close: () => Promise.resolve(void closed.push('closed')),
  };
}

interface Poll {
  readonly said: readonly string[];
  readonly closed: readonly string[];
}

/** Polls with a `create` that fails like this, one after the other, and then makes a worker. */
async function poll(failures: readonly Error[], endsBy: 'itself' | 'shutdown' = 'shutdown'): Promise<Poll> {
  const said: string[] = [];
  const closed: string[] = [];
  const log = createLogger('warn', 'test', {
    write: (line: string) => void said.push((JSON.parse(line) as { readonly msg: string }).msg),
  });
  const ending = new AbortController();
  const left = [...failures];
  await pollTemporal({
    create: () => {
      const failure = left.shift();
      return failure === undefined ? Promise.resolve(workerThat(endsBy, closed)) : Promise.reject(failure);
    },
    log,
    signal: ending.signal,
    onReady: () => {
      if (endsBy === 'shutdown') ending.abort();
    },
  });
  return { said, closed };
}

function transportError(message: string): Error {
  return Object.assign(new Error(message), { name: 'TransportError' });
}

test('Temporal that does not answer is waited for, and said once', async () => {
  const { said, closed } = await poll([transportError('tonic'), transportError('tonic')]);
  expect(said).toEqual(['waiting: Temporal does not answer; is it running, and is TEMPORAL_ADDRESS right?']);
  expect(closed).toEqual(['closed']);
});

test('a namespace that is not there is waited for by its name', async () => {
  const { said } = await poll([transportError('Namespace nope was not found or otherwise could not be described')]);
  expect(said).toEqual(['waiting: Temporal has no such namespace; is TEMPORAL_NAMESPACE right?']);
});

test('what no waiting would mend ends it', async () => {
  await expect(poll([new TypeError('Cannot set both')])).rejects.toThrow('Cannot set both');
});

test('a worker that ends unasked says so', async () => {
  const { said, closed } = await poll([], 'itself');
  expect(said).toEqual([expect.stringContaining('worker ended unasked')]);
  expect(closed).toEqual(['closed']);
});
