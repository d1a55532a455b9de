import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createTurns } from '../../src/http/turns.js';

/** Asks for as many turns at once, and notes who has begun; in capitals for whom all others go before. */
function ask(turns: ReturnType<typeof createTurns>, names: readonly string[], begun: string[]): void {
  for (const name of names) {
    void turns.next(name === name.toUpperCase() ? 'last' : 'in_order').then(() => begun.push(name));
  }
}

test('who comes alone begins at once, and so does the next one a turn later', async () => {
  const turns = createTurns();
  const begun: string[] = [];
  ask(turns, ['a'], begun);
  await Promise.resolve();
  expect(begun).toEqual(['a']);
  await nextTurn();
  await nextTurn();
  ask(turns, ['b'], begun);
  await Promise.resolve();
  expect(begun).toEqual(['a', 'b']);
});

test('of many at once one begins per turn of the event loop, in order of asking', async () => {
  const turns = createTurns();
  const begun: string[] = [];
  ask(turns, ['a', 'b', 'c', 'd'], begun);
  for (const expected of [['a'], ['a', 'b'], ['a', 'b', 'c']]) {
    await Promise.resolve();
    expect(begun).toEqual(expected);
    await nextTurn();
  }
  ask(turns, ['e'], begun);
  await nextTurn();
  await nextTurn();
  await nextTurn();
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'e']);
});

test('who is to go last begins when nobody else waits', async () => {
  const turns = createTurns();
  const begun: string[] = [];
  ask(turns, ['A', 'B', 'c', 'C', 'd'], begun);
  await nextTurn();
  ask(turns, ['e'], begun);
  for (let turn = 0; turn < 6; turn += 1) await nextTurn();
  expect(begun).toEqual(['A', 'c', 'd', 'e', 'B', 'C']);
});
