import { inject } from 'vitest';
import { describeHappenings } from '../../src/prove/describe.js';
import { openProofDatabase, prove, type Verdict } from '../../src/prove/prove.js';
import type { Proof } from '../../src/testing/index.js';

/** Runs a proof on the shared server, with a seed of its own, and prints how long that took. */
export async function proveHere(name: string, proof: Proof, schedules = 1_000): Promise<Verdict> {
  const seed = 20_261_130;
  const database = await openProofDatabase(inject('postgresUrl'));
  const verdict = await prove(proof, { database, seed, schedules }).finally(() => database.drop());
  const ended = verdict.counterexample === null ? 'proven' : 'counterexample';
  const took = `${verdict.schedules} schedules, ${(verdict.durationMs / 1000).toFixed(1)} s`;
  process.stdout.write(`prove ${name}: ${ended}, ${took}\n`);
  return verdict;
}

/** The lines of a verdict's counterexample; empty when there is none. */
export function stepsOf({ cast, counterexample }: Verdict): readonly string[] {
  return counterexample === null ? [] : describeHappenings(cast, counterexample.run.happenings);
}
