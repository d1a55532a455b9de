import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import Stripe from 'stripe';
import type { Fault } from '../../src/dev/stripe-stand-in/faults.js';
import type { LedgerEntry } from '../../src/dev/stripe-stand-in/ledger.js';
import type { RefundStatus } from '../../src/dev/stripe-stand-in/books.js';
import { compiled } from './dist.js';

/** Stripe as tests have it: a process outside whatever they kill, whose ledger is the witness. */
export interface StripeStandIn {
  /** For `STRIPE_API_BASE`. */
  readonly base: string;
  readonly port: number;
  /** The SDK as a bystander's: what a test sets up or looks at. */
  readonly stripe: Stripe;
  /** What the next requests meet; replaces what is left of the last script. */
  fail(...faults: Fault[]): Promise<void>;
  control(name: string, body: unknown): Promise<Readonly<Record<string, unknown>>>;
  setClock(offsetMs: number): Promise<void>;
  setRefundStatus(status: RefundStatus): Promise<void>;
  /** A payment that has been made in full; its ID. */
  paid(amount: number, metadata?: Readonly<Record<string, string>>): Promise<string>;
  /** Every effect that was executed, whoever heard of it. */
  executed(): readonly LedgerEntry[];
  refunds(): readonly LedgerEntry[];
  kill(): Promise<void>;
}

export const STAND_IN_KEY = 'sk_test_standin';

/** Starts the stand-in on a ledger file of its own. */
export async function startStandIn(ledger: string): Promise<StripeStandIn> {
  const script = compiled('src/dev/stripe-stand-in/stand-in-process.js');
  const child = spawn(process.execPath, [script, ledger], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const port = Number(line);
  const base = `http://127.0.0.1:${port}`;
  const stripe = new Stripe(STAND_IN_KEY, { host: '127.0.0.1', port, protocol: 'http', telemetry: false });
  const control: StripeStandIn['control'] = async (name, body) => {
    const answer = await fetch(`${base}/_control/${name}`, { method: 'POST', body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`the stand-in answered ${answer.status} to ${name}: ${await answer.text()}`);
    return (await answer.json()) as Readonly<Record<string, unknown>>;
  };
  const executed = (): readonly LedgerEntry[] =>
    readFileSync(ledger, 'utf8')
      .split('\n')
      .filter((entry) => entry !== '')
      .map((entry) => JSON.parse(entry) as LedgerEntry);
  return {
    base,
    port,
    stripe,
    control,
    executed,
    refunds: () => executed().filter(({ effect }) => effect === 'refund'),
    fail: async (...faults) => {
      await control('faults', faults);
    },
    setClock: async (offsetMs) => {
      await control('clock', { offsetMs });
    },
    setRefundStatus: async (status) => {
      await control('refund-status', { status });
    },
    paid: async (amount, metadata = {}) => {
      const { id } = await stripe.paymentIntents.create({
        amount,
        currency: 'usd',
        payment_method: 'pm_card_visa',
        confirm: true,
        metadata,
      });
      return id;
    },
    kill: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}
