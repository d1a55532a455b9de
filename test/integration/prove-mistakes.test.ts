import { describe, expect, it } from 'vitest';
import type { Violation } from '../../src/prove/violation.js';
import type { Proof } from '../../src/testing/index.js';
import { proof as c12 } from '../prove/c12-failure-after-success.js';
import { proof as c14 } from '../prove/c14-forgets-unknown-order.js';
import { proof as c15 } from '../prove/c15-dispute-reopens.js';
import { proof as c16InHandler } from '../prove/c16-refund-in-handler.js';
import { proof as c16 } from '../prove/c16-new-key-each-attempt.js';
import { proof as c17 } from '../prove/c17-last-refund-only.js';
import { proof as c21 } from '../prove/c21-any-amount.js';
import { proof as c22 } from '../prove/c22-unpaid-is-failed.js';
import { proof as c33 } from '../prove/c33-locks-in-any-order.js';
import { proof as callsOverHttp } from '../prove/calls-over-http.js';
import { proof as lostUpdate } from '../prove/lost-update.js';
import { parcelOfSix } from '../prove/one-order-of-six.js';
import { proof as writeOutside } from '../prove/write-outside-transaction.js';
import { proveHere, stepsOf } from '../support/prove-here.js';

interface Mistake {
  readonly name: string;
  readonly proof: Proof;
  readonly kind: Violation['kind'];
  /** What the lines of the counterexample say, as patterns. */
  readonly steps: readonly RegExp[];
  /** Part of what was found. */
  readonly found: string;
}

const MISTAKES: readonly Mistake[] = [
  {
    name: 'C12: a late failure flips a paid order to failed',
    proof: c12,
    kind: 'end',
    steps: [/^payment_intent.succeeded: done, applied$/, /^payment_intent.payment_failed: done, applied$/],
    found: '"failed"',
  },
  {
    name: 'C14: a payment before its order is forgotten',
    proof: c14,
    kind: 'end',
    steps: [/^payment_intent.succeeded: done, ignored/, /^step "the checkout stores the order"$/],
    found: '"awaiting_payment"',
  },
  {
    name: 'C15: a dispute opens a canceled order again',
    proof: c15,
    kind: 'end',
    steps: [/^charge.dispute.created: done, applied$/, /^step "support cancels/],
    found: '"canceled"',
  },
  {
    name: 'C16: a refund is sent again under a new key',
    proof: c16,
    kind: 'end',
    steps: [/^payment_intent.succeeded; crash after the call of refund_order:default:o_1, then it is run again: done/],
    found: '5000',
  },
  {
    name: 'C16, the other way: a refund is made inside the transaction',
    proof: c16InHandler,
    kind: 'outside_call',
    steps: [/^payment_intent.succeeded: done, applied$/],
    found: 'changed what effects() tells',
  },
  {
    name: 'C17: an earlier refund that is told again counts again',
    proof: c17,
    kind: 'end',
    steps: [/\(evt_r1\): done/, /\(evt_r2\): done/, /\(evt_r1\) again, under a new event ID: done, applied$/],
    found: '"7000"',
  },
  {
    name: 'C21: any amount in any currency settles an order',
    proof: c21,
    kind: 'invariant',
    steps: [/^payment_intent.succeeded \(evt_weak\): done, applied$/],
    found: 'a paid order was paid in full',
  },
  {
    name: 'C22: a payment under way is taken for a failure',
    proof: c22,
    kind: 'end',
    steps: [/async_payment_succeeded: done, applied$/, /^checkout.session.completed: done, superseded$/],
    found: '"paid"',
  },
  {
    name: 'C33: two events lock the same rows in different order',
    proof: c33,
    kind: 'deadlock',
    steps: [/^at once: payment_intent.succeeded and charge.refunded; the first pauses after `update orders/],
    found: '',
  },
  {
    name: 'a lost update: read, add in code, write back',
    proof: lostUpdate,
    kind: 'end',
    steps: [/^at once: .* pauses after `select points from customers/],
    found: '10',
  },
  {
    name: 'a write through another connection, which a rollback leaves',
    proof: writeOutside,
    kind: 'end',
    steps: [/^charge.succeeded; crash (before|after) `.*`, then it is run again: done, applied$/],
    found: '20',
  },
  {
    name: 'a request inside the transaction',
    proof: callsOverHttp,
    kind: 'outside_call',
    steps: [/^payment_intent.succeeded: done, applied$/],
    found: 'POST http://127.0.0.1:59999/warehouse while its transaction was open',
  },
];

/** Of one mistake, shrinking included, on whatever machine this is. */
const FOUND_WITHIN_MS = 60_000;

describe('a plausible mistake is found within a minute, with a counterexample of at most five steps', () => {
  it.each(MISTAKES)('$name', { timeout: FOUND_WITHIN_MS }, async ({ name, proof, kind, steps, found }) => {
    const verdict = await proveHere(name, proof);
    const violation = verdict.counterexample?.violation;
    expect(violation?.kind).toBe(kind);
    const lines = stepsOf(verdict);
    expect(lines.length).toBeLessThanOrEqual(5);
    expect(lines).toEqual(steps.map((step) => expect.stringMatching(step) as unknown));
    expect(JSON.stringify(violation)).toContain(found);
  });
});

it('a mistake is found that only one of the 720 orders of six events shows', async () => {
  const unlucky = ['b', 'a', 'f', 'c', 'e', 'd'];
  const verdict = await proveHere('one order of six', parcelOfSix(unlucky));
  expect(stepsOf(verdict)).toEqual(
    unlucky.map((id) => expect.stringContaining(`parcel.seen (evt_${id}): done`) as unknown),
  );
});
