import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'pg';
import { actOnOperation } from '../admin/act-on-operations.js';
import { DevStackError } from '../errors.js';
import { postEvent, type PostTarget } from './post-event.js';
import type { StripeAccount } from './stripe-account.js';

export interface OrderDemoOptions extends PostTarget {
  readonly stripe: StripeAccount;
  readonly databaseUrl: string;
  readonly tenant: string;
  /** Tells an operation's run that it was approved, as `oncehook operations approve` does. */
  readonly wake: (operationKey: string, input: unknown) => Promise<void>;
}

/** What became of one order's story. */
export interface OrderStory {
  readonly title: string;
  readonly orderId: string;
  readonly status: string;
  /** In minor units of USD. */
  readonly capturedMinor: bigint;
  readonly refundedMinor: bigint;
  /** What an operator would notice: a hold, a dispute. */
  readonly notice: string | null;
  readonly operations: readonly { readonly key: string; readonly kind: string; readonly status: string }[];
}

const TOTAL_MINOR = 4200;
const PART_MINOR = 1000;
const WITHIN_MS = 60_000;

/**
 * Orders whose money takes other ways than the straight one, played on the stand-in for Stripe, which sends its own
 * signed events in no particular order. All at once, but for the one that needs the stand-in to be silent.
 */
export async function runOrderDemo(options: OrderDemoOptions): Promise<readonly OrderStory[]> {
  const pool = new Pool({ connectionString: options.databaseUrl, max: 6 });
  const teller = createTeller(pool, options);
  try {
    const outOfOrder = await tellOutOfOrder(teller, options);
    await options.stripe.sendEventsTo({ url: options.webhookUrl, secret: options.webhookSecret });
    const others = [tellLate, tellSecond, tellRefunds, tellFailedRefund, tellDispute];
    return [...(await Promise.all(others.map((tell) => tell(teller, options)))), outOfOrder];
  } finally {
    await pool.end();
  }
}

/** A payment of an order that was canceled meanwhile: the order stays canceled, the money goes back after approval. */
async function tellLate(teller: Teller, { stripe }: OrderDemoOptions): Promise<OrderStory> {
  const orderId = await teller.register();
  await teller.query('select oncehook.request_cancel($1, $2)', [teller.tenant, orderId]);
  await stripe.pay(orderId, TOTAL_MINOR);
  await teller.approveRefund(orderId, 1);
  await teller.untilRefunds(orderId, 1);
  return teller.tell('paid after it was canceled: the refund is proposed, approved, made once', orderId);
}

async function tellSecond(teller: Teller, { stripe }: OrderDemoOptions): Promise<OrderStory> {
  const orderId = await teller.register();
  await stripe.pay(orderId, TOTAL_MINOR);
  await teller.untilOrder(orderId, `status = 'paid'`);
  await stripe.pay(orderId, TOTAL_MINOR);
  await teller.untilProposed(orderId);
  return teller.tell('paid twice: the second payment waits to be refunded', orderId);
}

async function tellRefunds(teller: Teller, { stripe }: OrderDemoOptions): Promise<OrderStory> {
  const orderId = await teller.register();
  await stripe.pay(orderId, TOTAL_MINOR);
  await teller.untilOrder(orderId, `status = 'paid'`);
  await teller.requestRefund(orderId, PART_MINOR, 'first');
  await teller.approveRefund(orderId, 1);
  await teller.untilOrder(orderId, `status = 'partially_refunded'`);
  await teller.requestRefund(orderId, TOTAL_MINOR - PART_MINOR, 'rest');
  await teller.approveRefund(orderId, 2);
  await teller.untilOrder(orderId, `status = 'refunded'`);
  return teller.tell('refunded in part, then in full', orderId);
}

async function tellFailedRefund(teller: Teller, { stripe }: OrderDemoOptions): Promise<OrderStory> {
  const orderId = await teller.register();
  await stripe.pay(orderId, TOTAL_MINOR);
  await teller.untilOrder(orderId, `status = 'paid'`);
  await teller.requestRefund(orderId, TOTAL_MINOR, 'all');
  await teller.approveRefund(orderId, 1);
  await teller.untilOrder(orderId, `status = 'refunded'`);
  const [refund] = await teller.query<{ id: string }>(
    'select provider_refund_id as id from oncehook.refunds where tenant_id = $1 and order_id = $2',
    [teller.tenant, orderId],
  );
  await stripe.failRefund(refund?.id ?? '');
  await teller.untilOrder(orderId, 'hold_reason is not null');
  return teller.tell('refunded, and the refund fails later: held for a person', orderId);
}

async function tellDispute(teller: Teller, { stripe }: OrderDemoOptions): Promise<OrderStory> {
  const orderId = await teller.register();
  const paymentId = await stripe.pay(orderId, TOTAL_MINOR);
  await teller.untilOrder(orderId, `status = 'paid'`);
  await stripe.openDispute(paymentId);
  await teller.untilOrder(orderId, `dispute_state = 'open'`);
  return teller.tell("disputed at the customer's bank", orderId);
}

/** The events of a payment and its refund, the refund's first. */
async function tellOutOfOrder(teller: Teller, options: OrderDemoOptions): Promise<OrderStory> {
  const { stripe } = options;
  const orderId = await teller.register();
  await stripe.sendEventsTo(null);
  const paymentId = await stripe.pay(orderId, TOTAL_MINOR);
  await stripe.refundByHand(paymentId, PART_MINOR);
  const events = await stripe.recentEvents();
  for (const type of ['refund.created', 'payment_intent.succeeded']) {
    const event = events.find((candidate) => candidate.type === type);
    if (event !== undefined) await post(JSON.stringify(event), options);
  }
  await teller.untilOrder(orderId, `status = 'partially_refunded'`);
  return teller.tell('the refund is heard of before the payment', orderId);
}

async function post(body: string, options: OrderDemoOptions): Promise<void> {
  const answer = await postEvent(body, options);
  if (!answer.ok) throw new DevStackError(`The receiver answered ${answer.status} to an event of the demonstration.`);
}

/** What the stories are told with. */
interface Teller {
  readonly tenant: string;
  query<Row extends object>(sql: string, values: readonly unknown[]): Promise<readonly Row[]>;
  /** A new order of the usual amount. */
  register(): Promise<string>;
  requestRefund(orderId: string, amountMinor: number, requestId: string): Promise<void>;
  /** Waits for a proposed refund, approves it, and waits until so many are confirmed. */
  approveRefund(orderId: string, confirmed: number): Promise<void>;
  untilProposed(orderId: string): Promise<void>;
  /** @param condition on the order's row, ours */
  untilOrder(orderId: string, condition: string): Promise<void>;
  /** Until the provider has told of so many refunds that succeeded. */
  untilRefunds(orderId: string, succeeded: number): Promise<void>;
  tell(title: string, orderId: string): Promise<OrderStory>;
}

function createTeller(pool: Pool, { tenant, wake, signal }: OrderDemoOptions): Teller {
  const query = async <Row extends object>(sql: string, values: readonly unknown[]): Promise<readonly Row[]> =>
    (await pool.query<Row>(sql, [...values])).rows;
  const until = async (what: string, sql: string, values: readonly unknown[]): Promise<void> => {
    const deadline = Date.now() + WITHIN_MS;
    while ((await query<{ holds: boolean }>(`select (${sql}) as holds`, values))[0]?.holds !== true) {
      if (Date.now() > deadline) {
        const effects = await query<{ says: string }>(
          `select concat_ws(' ', operation_key, status, last_error) as says
             from oncehook.operations
            where tenant_id = $1
              and params ->> 'orderId' = $2`,
          values,
        );
        throw new DevStackError(
          `The demonstration waits in vain until ${what} (${effects.map(({ says }) => says).join(', ')}): see receiver.log and worker.log in the stack's folder.`,
        );
      }
      await pause(100, undefined, { signal });
    }
  };
  const operations = (orderId: string): Promise<readonly { key: string; kind: string; status: string }[]> =>
    query(
      `select operation_key as key, kind, status
         from oncehook.operations
        where tenant_id = $1
          and params ->> 'orderId' = $2
        order by created_at, operation_key`,
      [tenant, orderId],
    );
  const refundsIn = (status: string, count: number): string =>
    `select count(*) >= ${count}
       from oncehook.operations
      where tenant_id = $1 and params ->> 'orderId' = $2 and kind = 'refund' and status = '${status}'`;
  const untilProposed = (orderId: string): Promise<void> =>
    until(`a refund of ${orderId} is proposed`, refundsIn('proposed', 1), [tenant, orderId]);
  return {
    tenant,
    query,
    untilProposed,
    register: async () => {
      const id = `order_demo_${Date.now().toString(36)}${randomBytes(3).toString('hex')}`;
      await query(
        `insert into oncehook.orders (tenant_id, id, total_minor, currency, customer_email)
         values ($1, $2, $3, 'usd', 'buyer@example.com')`,
        [tenant, id, TOTAL_MINOR],
      );
      return id;
    },
    requestRefund: async (orderId, amountMinor, requestId) => {
      await query('select oncehook.request_refund($1, $2, $3, $4)', [tenant, orderId, amountMinor, requestId]);
    },
    approveRefund: async (orderId, confirmed) => {
      await untilProposed(orderId);
      for (const { key, kind, status } of await operations(orderId)) {
        if (kind !== 'refund' || status !== 'proposed') continue;
        const operator = { by: 'demo', reason: 'shown in the demonstration' };
        await actOnOperation(pool, key, { action: 'approve' }, operator);
        await wake(key, operator);
      }
      await until(`the refund of ${orderId} is made`, refundsIn('confirmed', confirmed), [tenant, orderId]);
    },
    untilOrder: (orderId, condition) =>
      until(
        `order ${orderId} has ${condition}`,
        `select count(*) = 1 from oncehook.orders where tenant_id = $1 and id = $2 and ${condition}`,
        [tenant, orderId],
      ),
    untilRefunds: (orderId, succeeded) =>
      until(
        `a refund of ${orderId} has succeeded`,
        `select count(*) >= ${succeeded}
           from oncehook.refunds
          where tenant_id = $1 and order_id = $2 and status = 'succeeded'`,
        [tenant, orderId],
      ),
    tell: async (title, orderId) => {
      await until(`the effects of ${orderId} have come to an end`, EFFECTS_AT_REST, [tenant, orderId]);
      const [order] = await query<OrderRow>(
        `select status, captured_minor as captured, refunded_minor as refunded, hold_reason as hold, dispute_state as dispute
           from oncehook.orders
          where tenant_id = $1
            and id = $2`,
        [tenant, orderId],
      );
      if (order === undefined) throw new DevStackError(`The demonstration's order ${orderId} is gone.`);
      const notices = [
        order.hold === null ? [] : [`held: ${order.hold}`],
        order.dispute === 'none' ? [] : [`dispute ${order.dispute}`],
      ].flat();
      return {
        title,
        orderId,
        status: order.status,
        capturedMinor: BigInt(order.captured),
        refundedMinor: BigInt(order.refunded),
        notice: notices.length === 0 ? null : notices.join(', '),
        operations: await operations(orderId),
      };
    },
  };
}

/** Nothing changes by itself any more: what is left waits for a person. */
const EFFECTS_AT_REST = `
  select coalesce(bool_and(status in ('confirmed', 'refused', 'proposed', 'parked')), true)
    from oncehook.operations
   where tenant_id = $1
     and params ->> 'orderId' = $2`;

interface OrderRow {
  readonly status: string;
  readonly captured: string;
  readonly refunded: string;
  readonly hold: string | null;
  readonly dispute: string;
}
