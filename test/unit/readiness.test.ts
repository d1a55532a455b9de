import { expect, test, vi } from 'vitest';
import { createReadiness, type ReadinessOptions } from '../../src/http/readiness.js';

function options(changes: Partial<ReadinessOptions> = {}): ReadinessOptions {
  return {
    schemaCheck: () => Promise.resolve('ok'),
    temporalCheck: () => Promise.resolve('ok'),
    isStopping: () => false,
    ...changes,
  };
}

const never = (): Promise<never> => new Promise(() => undefined);
const fail = (): Promise<never> => Promise.reject(new Error('down'));

test.each<[string, Partial<ReadinessOptions>, object]>([
  ['all is well', {}, { status: 'ready', postgres: 'ok', schema: 'ok', temporal: 'ok' }],
  ['the schema is behind', { schemaCheck: () => Promise.resolve('behind') }, { status: 'not_ready', schema: 'behind' }],
  ['PostgreSQL fails', { schemaCheck: fail }, { status: 'not_ready', postgres: 'down' }],
  ['Temporal is down', { temporalCheck: () => Promise.resolve('down') }, { status: 'ready', temporal: 'down' }],
  ['Temporal fails', { temporalCheck: fail }, { status: 'ready', temporal: 'unknown' }],
  ['the process stops', { isStopping: () => true }, { status: 'not_ready', postgres: 'ok' }],
])('%s', async (_name, changes, expected) => {
  expect(await createReadiness(options(changes))()).toMatchObject(expected);
});

test('a check that does not end counts as down after two seconds', async () => {
  vi.useFakeTimers();
  const looked = createReadiness(options({ schemaCheck: never, temporalCheck: never }))();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await looked).toMatchObject({ status: 'not_ready', postgres: 'down', temporal: 'unknown' });
  vi.useRealTimers();
});

test('many that ask at once cost one look, and what is seen is kept for a moment only', async () => {
  const schemaCheck = vi.fn(() => Promise.resolve('ok' as const));
  const readiness = createReadiness(options({ schemaCheck }));
  await Promise.all(Array.from({ length: 50 }, () => readiness()));
  expect(schemaCheck).toHaveBeenCalledTimes(1);
  await vi.waitFor(async () => {
    await readiness();
    expect(schemaCheck).toHaveBeenCalledTimes(2);
  });
});

test('of a database that is down the schema seen last is told', async () => {
  const schemaCheck = vi
    .fn<ReadinessOptions['schemaCheck']>()
    .mockResolvedValueOnce('ok')
    .mockRejectedValue(new Error());
  const readiness = createReadiness(options({ schemaCheck }));
  await readiness();
  await vi.waitFor(async () => {
    expect(await readiness()).toEqual({ status: 'not_ready', postgres: 'down', schema: 'ok', temporal: 'ok' });
  });
});
