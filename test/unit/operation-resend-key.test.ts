import { describe, expect, test } from 'vitest';
import type { OperationAnswer } from '../../src/index.js';
import type { OperationStatus } from '../../src/domain/operation.js';
import { nextStep } from '../../src/operations/next-step.js';
import type { OperationRow } from '../../src/operations/read-operation.js';
import { lostNow, verdictOf, type OperationRules } from '../../src/operations/verdict.js';
import { chooseSeed, seededRandom, type Random } from '../support/random.js';

const HOUR_MS = 3_600_000;
const LEASE_MS = 14_000;
const KEYED: OperationRules = { policy: 'resend', keyTtlMs: 24 * HOUR_MS, giveUpAfterMs: 72 * HOUR_MS };

/** What may happen to one attempt; `lost`: whatever was done, we hear nothing. `died`: not even that. */
type Fate = 'answered' | 'lost' | 'not_reached' | 'refused' | 'died';
const FATES: readonly Fate[] = ['answered', 'lost', 'not_reached', 'refused', 'died'];

/** Another side that does nothing twice under one key, for as long as it remembers the key. */
function otherSide(keyTtlMs: number) {
  let knownUntilMs = -Infinity;
  let effects = 0;
  return {
    effects: () => effects,
    receive: (nowMs: number, fate: Fate): 'done' | 'refused' => {
      const isKnown = nowMs < knownUntilMs;
      if (!isKnown && fate === 'refused') return 'refused';
      if (!isKnown) {
        effects += 1;
        knownUntilMs = nowMs + keyTtlMs;
      }
      return 'done';
    },
  };
}

interface End {
  readonly status: OperationStatus;
  readonly effects: number;
}

/** One operation to its end, as performOperation leads it, with the fates and pauses that `random` deals. */
function live(rules: OperationRules, random: Random): End {
  const provider = otherSide(rules.keyTtlMs);
  let row: OperationRow = {
    operationKey: 'k:1', kind: 'k', tenant: 't', params: {}, idempotencyKey: 'oncehook:00:1', generation: 1,
    status: 'planned', attempts: 0, lostAnswers: 0, prepared: false, createdAt: new Date(0), firstSentAt: null,
    sinceFirstSentMs: null, sinceLastSentMs: null, paused: false, approved: false, event: null, scope: null,
  }; // prettier-ignore
  let nowMs = 0;
  let [firstMs, lastMs] = [0, 0];
  for (let step = 0; step < 500; step += 1) {
    const ages = { sinceFirstSentMs: nowMs - firstMs, sinceLastSentMs: nowMs - lastMs };
    if (row.attempts > 0) row = { ...row, ...ages };
    const next = nextStep(row, { rules, enabled: true, heldBack: null, leaseMs: LEASE_MS });
    if (next.kind === 'look') throw new Error('resend looks at nothing');
    if (next.kind === 'move') return { status: next.verdict.status, effects: provider.effects() };
    if (next.kind === 'again') {
      nowMs += next.delayMs;
      continue;
    }
    if (row.attempts === 0) firstMs = nowMs;
    lastMs = nowMs;
    row = { ...row, attempts: row.attempts + 1, lostAnswers: row.lostAnswers + lostNow(row), status: 'sending' };
    const fate = random.pick(FATES);
    const said = fate === 'not_reached' ? 'not_reached' : provider.receive(nowMs, fate);
    const pauseMs = random.chance(0.3) ? random.int(40) * HOUR_MS : 0;
    if (fate === 'died') {
      nowMs += LEASE_MS + pauseMs;
      continue;
    }
    const { attempts: attempt, lostAnswers } = row;
    const facts = { attempt, lostAnswers, sinceFirstSentMs: nowMs - firstMs, spread: random.part() };
    const verdict = verdictOf(answerOf(fate, said), facts, rules);
    if (!['planned', 'unknown'].includes(verdict.status)) {
      return { status: verdict.status, effects: provider.effects() };
    }
    row = { ...row, status: verdict.status, lostAnswers: lostAnswers + verdict.lostAnswers };
    nowMs += verdict.delayMs + pauseMs;
  }
  throw new Error('the operation came to no end');
}

function answerOf(fate: Fate, said: 'done' | 'refused' | 'not_reached'): OperationAnswer {
  if (fate === 'lost') return { kind: 'unknown', code: 'no_answer' };
  if (said === 'not_reached') return { kind: 'notSent', code: 'refused_connection' };
  return said === 'done' ? { kind: 'confirmed' } : { kind: 'refused', code: 'no' };
}

describe('resend under a key that the other side forgets', () => {
  const seed = chooseSeed();

  test(`has no second effect and tells the truth, whatever is lost and however long it takes (SEED=${seed})`, () => {
    const random = seededRandom(seed);
    const ends = new Map<OperationStatus, number>();
    for (let run = 0; run < 20_000; run += 1) {
      const { status, effects } = live(KEYED, random);
      ends.set(status, (ends.get(status) ?? 0) + 1);
      expect(effects).toBeLessThanOrEqual(1);
      if (status === 'confirmed') expect(effects).toBe(1);
      if (status === 'refused') expect(effects).toBe(0);
    }
    // All three ends were met, else the above says little.
    expect([...ends.keys()].sort()).toEqual(['confirmed', 'parked', 'refused']);
  });
});
