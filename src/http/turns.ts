/** Hands out turns of the event loop. */
export interface Turns {
  /**
   * Resolves when the caller may begin: at once when nobody else has in this turn, else in order of asking.
   * @param place `last` for whom all others go before
   */
  next(place: 'in_order' | 'last'): Promise<void>;
}

/**
 * Lets one request begin in each turn of the event loop. Node accepts one new connection per turn (libuv,
 * `uv__server_io`), after all that is readable on the old ones: two hundred connections that always have a request
 * ready would let in five others a second, and whoever has something to deliver would wait in front of the door. So
 * turns are kept short, and the door opens as often as a request is begun.
 */
export function createTurns(): Turns {
  const waiting = { in_order: [] as (() => void)[], last: [] as (() => void)[] };
  let isTaken = false;
  const take = (begin: () => void): void => {
    isTaken = true;
    setImmediate(onNextTurn);
    begin();
  };
  const onNextTurn = (): void => {
    isTaken = false;
    const begin = waiting.in_order.shift() ?? waiting.last.shift();
    if (begin !== undefined) take(begin);
  };
  return {
    next: (place) =>
      new Promise((resolve) => {
        if (isTaken) waiting[place].push(resolve);
        else take(resolve);
      }),
  };
}
