import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DevStackError } from '../errors.js';
import { packageRoot } from '../package-root.js';

/** One thing that the demonstration shows. */
export interface Scenario {
  readonly title: string;
  readonly eventId: string;
  readonly body: string;
  /** Deliveries of the same event at the same moment. */
  readonly copies: number;
  /** The order to register before; undefined for an event that is about none. */
  readonly order: { readonly id: string; readonly totalMinor: number; readonly currency: string } | undefined;
}

/** The parts of an event that each run makes its own; everything else stays as Stripe shapes it. */
interface Envelope {
  id: string;
  created: number;
  data: { object: Record<string, unknown> };
}

/** The amount of the recorded payment, and one that an order might have instead. */
const PAID_MINOR = 4200;
const OTHER_MINOR = 5000;

/** Events under IDs that were never used before, so that every start shows something new. */
export function demoScenarios(): Scenario[] {
  const run = `${Date.now().toString(36)}${randomBytes(3).toString('hex')}`;
  return [
    payment('a payment that succeeds', `demo_${run}_1`, PAID_MINOR, 1),
    payment('the same delivery five times at once', `demo_${run}_2`, PAID_MINOR, 5),
    payment('a payment of another amount than its order', `demo_${run}_3`, OTHER_MINOR, 1),
    {
      title: 'a type that nobody handles',
      copies: 1,
      order: undefined,
      ...fromRecorded('unknown.future_type.json', `evt_demo_${run}_4`),
    },
  ];
}

function payment(title: string, id: string, totalMinor: number, copies: number): Scenario {
  const order = { id: `order_${id}`, totalMinor, currency: 'usd' };
  const event = fromRecorded('payment_intent.succeeded.json', `evt_${id}`, {
    id: `pi_${id}`,
    metadata: { order_id: order.id },
  });
  return { title, copies, order, ...event };
}

function fromRecorded(
  file: string,
  eventId: string,
  changes: Record<string, unknown> = {},
): { eventId: string; body: string } {
  const event = readRecorded(file);
  event.id = eventId;
  event.created = Math.floor(Date.now() / 1000);
  Object.assign(event.data.object, changes);
  return { eventId, body: JSON.stringify(event, null, 2) };
}

function readRecorded(file: string): Envelope {
  const path = join(packageRoot(), 'test/fixtures/vectors/stripe', file);
  try {
    // Our own fixture, whose shape the tests rely on too.
    return JSON.parse(readFileSync(path, 'utf8')) as Envelope;
  } catch (error) {
    throw new DevStackError(`The recorded event ${path} cannot be read: start with --no-demo, or from a whole clone.`, {
      cause: error,
    });
  }
}
