/** A small seeded generator (mulberry32): the same seed gives the same run, and seeds are printed. */
export interface Random {
  /** From 0 up to, not including, `below`. */
  readonly int: (below: number) => number;
  /** From 0 up to, not including, 1. */
  readonly part: () => number;
  readonly chance: (probability: number) => boolean;
  readonly pick: <Item>(items: readonly Item[]) => Item;
  readonly shuffled: <Item>(items: readonly Item[]) => Item[];
}

export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (below: number): number => Math.floor(next() * below);
  return {
    int,
    part: next,
    chance: (probability) => next() < probability,
    pick: (items) => items[int(items.length)]!,
    shuffled: (items) => {
      const copy = [...items];
      for (let last = copy.length - 1; last > 0; last -= 1) {
        const other = int(last + 1);
        [copy[last], copy[other]] = [copy[other]!, copy[last]!];
      }
      return copy;
    },
  };
}

/** A fresh seed, or the one that a failed run printed: `SEED=123 npx vitest ...`. */
export function chooseSeed(): number {
  const given = Number(process.env.SEED);
  return Number.isSafeInteger(given) && given > 0 ? given : 1 + Math.floor(Math.random() * 2 ** 31);
}
