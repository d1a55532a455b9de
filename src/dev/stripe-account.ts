import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { DevStackError } from '../errors.js';
import { packageRoot } from '../package-root.js';
import type { Part } from './keep-running.js';
import { stablePort } from './ports.js';

/** An API key that only the stand-in takes: of the right form, and nobody's. */
export const STAND_IN_KEY = 'sk_test_standin';

/** The stack's own Stripe: a process beside it that forgets everything when it ends, except its file of effects. */
export interface StandInPart extends Part {
  /** For `STRIPE_API_BASE`. */
  readonly base: string;
}

/** Starts the stand-in for Stripe's API on a port that stays the same from start to start. */
export async function startStandInPart(dir: string): Promise<StandInPart> {
  const port = await stablePort(join(dir, 'stripe-port'));
  // Always the built one: under a test runner this file is its own source.
  const script = join(packageRoot(), 'dist', 'src', 'dev', 'stripe-stand-in', 'stand-in-process.js');
  const ledger = join(dir, 'stripe-effects.jsonl');
  const child = spawn(process.execPath, [script, ledger, String(port)], { stdio: ['pipe', 'pipe', 'ignore'] });
  const exited = once(child, 'exit');
  const ready = once(createInterface({ input: child.stdout }), 'line');
  await Promise.race([ready, exited]);
  if (child.pid === undefined || child.exitCode !== null) {
    throw new DevStackError(`The stand-in for Stripe did not start on port ${port}: stop what listens there.`);
  }
  return {
    pid: child.pid,
    base: `http://127.0.0.1:${port}`,
    stop: async () => {
      child.stdin.end(); // which is how it is told
      await exited;
    },
  };
}

const object = z.looseObject({ id: z.string() });
const events = z.object({ data: z.array(z.looseObject({ id: z.string(), type: z.string() })) });

/** What the demonstration does in its customers' and the merchant's place, at the stand-in. */
export interface StripeAccount {
  /** A customer pays. @returns the PaymentIntent's ID */
  pay(orderId: string, amountMinor: number): Promise<string>;
  /** The merchant refunds in Stripe's Dashboard. @returns the refund's ID */
  refundByHand(paymentId: string, amountMinor: number): Promise<string>;
  /** A refund that had succeeded comes back. */
  failRefund(refundId: string): Promise<void>;
  /** The customer's bank asks for the money back. */
  openDispute(paymentId: string): Promise<void>;
  /** Where events go; `null` for nowhere. */
  sendEventsTo(target: { readonly url: string; readonly secret: string } | null): Promise<void>;
  /** The newest events, newest first, as they would be sent. */
  recentEvents(): Promise<readonly { readonly id: string; readonly type: string }[]>;
}

export function openStripeAccount(base: string, signal: AbortSignal): StripeAccount {
  const call = async (method: 'GET' | 'POST', path: string, body?: string | URLSearchParams): Promise<unknown> => {
    const headers = { Authorization: `Bearer ${STAND_IN_KEY}` };
    const answer = await fetch(`${base}${path}`, { method, headers, signal, ...(body === undefined ? {} : { body }) });
    if (!answer.ok) throw new DevStackError(`The stand-in for Stripe answered ${answer.status} to ${method} ${path}.`);
    return answer.json();
  };
  const create = async (path: string, params: Record<string, string>): Promise<string> =>
    object.parse(await call('POST', path, new URLSearchParams(params))).id;
  const control = async (name: string, body: unknown): Promise<void> => {
    await call('POST', `/_control/${name}`, JSON.stringify(body));
  };
  return {
    pay: (orderId, amountMinor) =>
      create('/v1/payment_intents', {
        amount: String(amountMinor),
        currency: 'usd',
        payment_method: 'pm_card_visa',
        confirm: 'true',
        'metadata[order_id]': orderId,
      }),
    refundByHand: (paymentId, amountMinor) =>
      create('/v1/refunds', { payment_intent: paymentId, amount: String(amountMinor) }),
    failRefund: (id) => control('refund', { id, status: 'failed', failureReason: 'lost_or_stolen_card' }),
    openDispute: (paymentIntent) => control('dispute', { paymentIntent, status: 'needs_response' }),
    sendEventsTo: (target) => control('webhooks', target),
    recentEvents: async () => events.parse(await call('GET', '/v1/events?limit=100')).data,
  };
}
