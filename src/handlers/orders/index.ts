import { createHash } from 'node:crypto';
import type { Circumstances, Decision, OrderMails, OrderPolicies } from '../../domain/orders/decision.js';
import { decide, type Located } from '../../domain/orders/decide.js';
import {
  applied,
  defineHandlers,
  duplicate,
  fetchFirst,
  ignored,
  quarantine,
  superseded,
  wait,
  type Handler,
  type HandlerOutcome,
  type HandlerSet,
  type Transaction,
  type WebhookEvent,
} from '../../api/index.js';
import type { Owns } from './fields.js';
import { locateOrder } from './locate-order.js';
import { looksOf } from './look-at-fetched.js';
import { FACT_TYPES, readFact } from './read-fact.js';
import { saveCase } from './save-case.js';

export type { OrderMails, OrderPolicies } from '../../domain/orders/decision.js';

export interface OrdersOptions {
  /** What is done with money that an order cannot take. */
  readonly policies: OrderPolicies;
  readonly mails: OrderMails;
  /** Metadata that marks a source's objects as ours, where other integrations use its account, too; else `null`. */
  readonly ownsOf: (source: string) => Owns;
}

/** A fact that stands on a payment waits this long for its event before the provider is asked, in milliseconds. */
const PATIENCE_MS = 5 * 60_000;

/**
 * The built-in `orders` set. Reads what an event tells, finds and locks its order, lets `decide` say what it means, and
 * writes that: each event in one transaction. Written against the public API, like a user's.
 */
export function ordersHandlers(options: OrdersOptions): HandlerSet {
  return defineHandlers(
    Object.fromEntries([...FACT_TYPES].map(([type, factType]) => [type, handlerOf(factType, options)])),
  );
}

type FactType = Parameters<typeof readFact>[1];

function handlerOf(type: FactType, options: OrdersOptions): Handler {
  return async (event, tx) => {
    const owns = options.ownsOf(event.source);
    const read = readFact(event, type, owns);
    switch (read.kind) {
      case 'unreadable':
        return quarantine('schema');
      case 'notAPayment':
        return ignored('not_a_payment');
      case 'fetch':
        return fetchFirst(read.reference);
      case 'fact': {
        const circumstances = circumstancesOf(event, owns, options);
        const located = await locateOrder(tx, event, read.fact, circumstances.looks);
        return carryOut(tx, event, located, decide(located, read.fact, circumstances));
      }
    }
  };
}

function circumstancesOf(event: WebhookEvent, owns: Owns, { policies, mails }: OrdersOptions): Circumstances {
  return {
    scope: event.scope,
    tenant: event.tenant,
    policies,
    mails,
    looks: looksOf(event, owns),
    operationIdOf,
    account: owns === null ? 'ours' : 'shared',
    patience: Date.now() - event.receivedAt.getTime() > PATIENCE_MS ? 'spent' : 'waiting',
  };
}

/** As idempotency keys are made, without their generation; every refund carries it in its metadata. */
function operationIdOf(operationKey: string): string {
  return `oncehook:${createHash('sha256').update(operationKey).digest('hex').slice(0, 40)}`;
}

async function carryOut(
  tx: Transaction,
  event: WebhookEvent,
  located: Located,
  decision: Decision,
): Promise<HandlerOutcome> {
  const order = orderOf(located, decision);
  switch (decision.kind) {
    case 'ignore':
      return ignored(decision.reason);
    case 'fetch':
      return fetchFirst(...decision.references);
    case 'wait':
      return wait(decision.reason, decision.fetch === null ? order : { ...order, fetch: decision.fetch });
    case 'quarantine': {
      if (decision.keep === null || located.kind !== 'case') return quarantine(decision.reason, order);
      await saveCase(tx, event, located.orderCase, decision.keep);
      return quarantine(decision.reason, { ...order, keep: true });
    }
    case 'stand': {
      if (located.kind === 'case') await saveCase(tx, event, located.orderCase, decision.next);
      return standing(decision, order);
    }
  }
}

function standing(
  decision: Extract<Decision, { kind: 'stand' }>,
  order: { readonly orderId?: string },
): HandlerOutcome {
  switch (decision.outcome) {
    case 'applied':
      return applied({ ...order, operations: decision.operations });
    case 'duplicate':
      return duplicate(order);
    case 'superseded':
      return superseded(order);
    case 'ignored':
      return ignored(decision.reason);
  }
}

function orderOf(located: Located, decision: Decision): { readonly orderId?: string } {
  if (located.kind === 'case') return { orderId: located.orderCase.order.id };
  return decision.kind === 'wait' && decision.orderId !== null ? { orderId: decision.orderId } : {};
}
