/** A small seeded generator (mulberry32): the same seed gives the same numbers. */
export interface Random {
  /** From 0 up to, not including, `below`. */
  readonly int: (below: number) => number;
  /** From 0 up to, not including, 1. */
  readonly part: () => number;
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
    shuffled: (items) =>
      items
        .map((item) => ({ item, at: next() }))
        .sort((a, b) => a.at - b.at)
        .map(({ item }) => item),
  };
}
