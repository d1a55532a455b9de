import { seededRandom as seeded, type Random as Seeded } from '../../src/prove/random.js';

/** The generator of `oncehook prove`, with what else tests ask of one. */
export interface Random extends Seeded {
  readonly chance: (probability: number) => boolean;
  readonly pick: <Item>(items: readonly Item[]) => Item;
}

export function seededRandom(seed: number): Random {
  const random = seeded(seed);
  return {
    ...random,
    chance: (probability) => random.part() < probability,
    pick: (items) => items[random.int(items.length)]!,
  };
}

/** A fresh seed, or the one that a failed run printed: `SEED=123 npx vitest ...`. */
export function chooseSeed(): number {
  const given = Number(process.env.SEED);
  return Number.isSafeInteger(given) && given > 0 ? given : 1 + Math.floor(Math.random() * 2 ** 31);
}
