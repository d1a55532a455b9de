import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'vitest';
import { idempotencyKey, type OperationStatus } from '../../src/domain/operation.js';
import { operationKey } from '../../src/index.js';
import { sha256Hex } from '../../src/sha256.js';
import type { Localstripe } from './localstripe.js';
import { token } from './payment-event.js';
import { stackFor, type Stack, type StartOptions } from './stack.js';
import { STAND_IN_KEY, startStandIn, type StripeStandIn } from './stripe-stand-in.js';
import type { ServiceProcess } from './service-process.js';
import { openTempDir, removeDir } from './temp-dir.js';
import { until } from './until.js';

/** What the other side knows of a payment's refunds, whoever heard of them. */
export interface ExecutedRefund {
  readonly id: string;
  readonly amount: number;
  readonly operationId: string | undefined;
}

/** Another side than ours: it makes refunds and keeps the truth of them. */
export interface RefundPeer {
  readonly base: string;
  /** A payment of 10,000 that has been made; its ID. */
  pay(): Promise<string>;
  executed(payment: string): Promise<readonly ExecutedRefund[]>;
  /** The next refund is executed, and its answer is lost. */
  loseNextAnswer(): Promise<void>;
  stop(): Promise<void>;
}

export async function standInPeer(): Promise<RefundPeer & { readonly standIn: StripeStandIn }> {
  const dir = openTempDir();
  const standIn = await startStandIn(join(dir, 'ledger.jsonl'));
  return {
    standIn,
    base: standIn.base,
    pay: () => standIn.paid(10_000),
    executed: (payment) =>
      Promise.resolve(
        standIn
          .refunds()
          .filter(({ paymentIntent }) => paymentIntent === payment)
          .map(({ id, amount, metadata }) => ({ id, amount, operationId: metadata.operation_id })),
      ),
    loseNextAnswer: () => standIn.fail({ method: 'POST', path: '/v1/refunds', kind: 'lose-answer' }),
    stop: async () => {
      await standIn.kill();
      removeDir(dir);
    },
  };
}

interface ListedRefund {
  readonly id: string;
  readonly amount: number;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Through a proxy of ours, which can lose an answer; what is behind it may be shared. */
export async function localstripePeer(peer: Localstripe): Promise<RefundPeer> {
  let losesNext = false;
  const proxy = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming;
    const forwarded = httpRequest({ host: '127.0.0.1', port: peer.port, method, path: url, headers }, (answer) => {
      if (losesNext && method === 'POST' && url === '/v1/refunds') {
        losesNext = false;
        answer.resume().on('end', () => outgoing.socket?.resetAndDestroy());
        return;
      }
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    forwarded.on('error', () => outgoing.socket?.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    base: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    pay: async () => {
      const { id } = await peer.post('/v1/payment_intents', {
        amount: '10000',
        currency: 'usd',
        payment_method: 'pm_card_visa',
      });
      await peer.post(`/v1/payment_intents/${String(id)}/confirm`, {});
      return String(id);
    },
    executed: async (payment) => {
      const { data } = await peer.get(`/v1/refunds?payment_intent=${payment}&limit=100`);
      return (data as ListedRefund[]).map(({ id, amount, metadata }) => ({
        id,
        amount,
        operationId: metadata.operation_id,
      }));
    },
    loseNextAnswer: () => {
      losesNext = true;
      return Promise.resolve();
    },
    stop: () => {
      proxy.closeAllConnections();
      proxy.close();
      return Promise.resolve();
    },
  };
}

export interface OperationState {
  readonly status: OperationStatus;
  readonly attempts: number;
  readonly lostAnswers: number;
  readonly reference: string | null;
  readonly reason: string | null;
}

/** A stack whose workers refund through a peer, and one refund that an application asked for. */
export interface RefundScene {
  readonly stack: Stack;
  readonly payment: string;
  readonly key: string;
  startWorker(options?: StartOptions): Promise<ServiceProcess>;
  readonly state: () => Promise<OperationState>;
  executed(): Promise<readonly ExecutedRefund[]>;
  /** Waits for its end, and returns what the other side executed. */
  untilConfirmed(): Promise<readonly ExecutedRefund[]>;
}

const SETTLED_WITHIN_MS = 120_000;

/** Opens a scene for one test; nothing runs before a worker is started. */
export async function refundScene(
  test: Pick<TestContext, 'onTestFinished'>,
  openPeer: () => Promise<RefundPeer>,
): Promise<RefundScene & { readonly peer: RefundPeer }> {
  const peer = await openPeer();
  test.onTestFinished(() => peer.stop());
  const stack = await stackFor(test, {
    source: { apiKey: '${STRIPE_API_KEY}' },
    config: { effects: { refund: { mode: 'auto' } } },
  });
  const payment = await peer.pay();
  const order = `o_${token()}`;
  const key = operationKey('refund', 'requested', 'default', order, 'r1');
  const { database, scope } = stack;
  const params = {
    scope,
    paymentId: payment,
    amountMinor: 4_200,
    currency: 'usd',
    orderId: order,
    purpose: 'requested',
    reason: null,
  };
  await database.rows(
    `insert into oncehook.operations (operation_key, kind, tenant_id, params, idempotency_key)
     values ($1, 'refund', 'default', $2, $3)`,
    [key, JSON.stringify(params), idempotencyKey(key, 1, sha256Hex)],
  );
  const state = async (): Promise<OperationState> => {
    const [row] = await database.rows<OperationState>(
      `select status, attempts, lost_answers as "lostAnswers", provider_reference as reference, last_error as reason
         from oncehook.operations
        where operation_key = $1`,
      [key],
    );
    return row!;
  };
  const executed = (): Promise<readonly ExecutedRefund[]> => peer.executed(payment);
  return {
    peer,
    stack,
    payment,
    key,
    state,
    executed,
    startWorker: ({ checkpoint, env } = {}) =>
      stack.start('worker', {
        ...(checkpoint === undefined ? {} : { checkpoint }),
        env: { STRIPE_API_BASE: peer.base, STRIPE_API_KEY: STAND_IN_KEY, ...env },
      }),
    untilConfirmed: async () => {
      await until('the refund is confirmed', async () => (await state()).status === 'confirmed', SETTLED_WITHIN_MS);
      return executed();
    },
  };
}

/** What must be true of every refund in the end: executed once, under its name, and matched to its row. */
export async function expectedRefund({ key, state }: RefundScene): Promise<readonly ExecutedRefund[]> {
  const { reference } = await state();
  return [{ id: reference!, amount: 4_200, operationId: `oncehook:${sha256Hex(key).slice(0, 40)}` }];
}
