import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/errors.js';
import { effectBrakes } from '../../src/service/effect-brakes.js';
import { NO_BRAKE, heldBack } from '../../src/operations/brake.js';
import { GOOD_FILE, loadText, problemsOf } from '../support/config-input.js';

const KINDS = ['refund', 'cancel_payment_intent', 'email', 'notify_warehouse'];

describe('the brakes of a configuration', () => {
  it('are those of its kinds; money waits for approval where nothing is said', () => {
    const brakeOf = effectBrakes(loadText(GOOD_FILE), KINDS);
    expect(brakeOf('refund')).toEqual({ mode: 'propose', maxAmountMinor: 100_000, perHour: 50 });
    expect(brakeOf('cancel_payment_intent')).toEqual(NO_BRAKE);
    expect(brakeOf('email')).toEqual(NO_BRAKE);
    expect(brakeOf('notify_warehouse')).toEqual(NO_BRAKE);
  });

  it('hold for kinds of an application too', () => {
    const text = `${GOOD_FILE}effects: { notify_warehouse: { mode: propose, maxAmountMinor: 5, perHour: 2 } }\n`;
    const brakeOf = effectBrakes(loadText(text), KINDS);
    expect(brakeOf('notify_warehouse')).toEqual({ mode: 'propose', maxAmountMinor: 5, perHour: 2 });
  });

  it('hold for the kinds that start and signal workflows', () => {
    const text = `${GOOD_FILE}effects: { start_workflow: { perHour: 9 }, signal_workflow: { mode: off } }\n`;
    const brakeOf = effectBrakes(loadText(text), [...KINDS, 'start_workflow', 'signal_workflow']);
    expect(brakeOf('start_workflow')).toEqual({ ...NO_BRAKE, perHour: 9 });
    expect(brakeOf('signal_workflow')).toEqual({ ...NO_BRAKE, mode: 'off' });
  });

  it('are refused for a kind that does not exist, since they would hold nothing back', () => {
    const config = loadText(`${GOOD_FILE}effects: { notify_warehouse: { mode: off } }\n`);
    expect(() => effectBrakes(config, ['refund'])).toThrow(ConfigError);
  });

  it.each(['Refund', 'refnd', 'e-mail', 'cancelPaymentIntent', 'Warehouse'])('are refused for a slip: %s', (key) => {
    const problems = problemsOf(() => loadText(`${GOOD_FILE}effects: { ${key}: { mode: off } }\n`));
    expect(problems).toEqual([expect.stringContaining(`effects.${key}: unknown key`)]);
  });
});

describe('a brake', () => {
  const row = { status: 'planned', lostAnswers: 0, approved: false } as const;
  const propose = { ...NO_BRAKE, mode: 'propose' } as const;

  it('holds back what was never sent and not approved, and nothing else', () => {
    expect(heldBack(row, propose, null)).toBe('needs_approval');
    expect(heldBack({ ...row, approved: true }, propose, null)).toBeNull();
    expect(heldBack({ ...row, lostAnswers: 1 }, propose, null)).toBeNull();
    expect(heldBack({ ...row, status: 'unknown' }, propose, null)).toBeNull();
    expect(heldBack({ ...row, status: 'sending' }, propose, null)).toBeNull();
  });

  it('compares amounts exactly, also beyond what a number can', () => {
    const brake = { ...NO_BRAKE, maxAmountMinor: Number.MAX_SAFE_INTEGER };
    expect(heldBack(row, brake, BigInt(Number.MAX_SAFE_INTEGER))).toBeNull();
    expect(heldBack(row, brake, BigInt(Number.MAX_SAFE_INTEGER) + 1n)).toBe('amount_cap');
  });
});
