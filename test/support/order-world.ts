import type { Circumstances, Decision } from '../../src/domain/orders/decision.js';
import { decide, type Located } from '../../src/domain/orders/decide.js';
import type { Fact, Looks } from '../../src/domain/orders/facts.js';
import { isActive, type OrderCase } from '../../src/domain/orders/order-case.js';
import type { FetchReference, PlannedOperation } from '../../src/domain/outcome.js';
import { looksOf } from '../../src/handlers/orders/look-at-fetched.js';
import { FACT_TYPES, readFact } from '../../src/handlers/orders/read-fact.js';
import type { FetchedObject, WebhookEvent } from '../../src/index.js';
import { circumstances, order } from './order-cases.js';
import type { History, HistoryEvent } from './order-histories.js';

type Verdict = 'applied' | 'duplicate' | 'superseded' | 'ignored' | 'waiting' | `quarantined:${string}`;

/** One order in memory, moved by the very readers and decisions of the orders set, as the apply step would call them. */
export class OrderWorld {
  orderCase: OrderCase;
  /** By key; a key with other parameters is a fault, as it is in the table of operations. */
  private readonly planned = new Map<string, PlannedOperation>();
  readonly quarantined: string[] = [];
  private readonly done = new Set<string>();

  constructor(
    private readonly history: History,
    private readonly canAsk: 'provider' | 'nobody' = 'provider',
  ) {
    this.orderCase = {
      order: order({ id: history.orderId, status: history.initialStatus, providerPaymentId: null }),
      payments: [],
      refunds: [],
      disputes: [],
      operations: history.operations,
    };
  }

  get operations(): readonly PlannedOperation[] {
    return [...this.planned.values()];
  }

  /** Delivers in this order; what waits is tried again after the others, and in the end as one whose patience is spent. */
  deliverAll(events: readonly HistoryEvent[]): void {
    let waiting = events.filter((event) => this.deliver(event, 'waiting') === 'waiting');
    for (let before = events.length; waiting.length > 0 && waiting.length < before;) {
      before = waiting.length;
      waiting = waiting.filter((event) => this.deliver(event, 'waiting') === 'waiting');
    }
    for (const event of waiting) this.deliver(event, 'spent');
  }

  private deliver(event: HistoryEvent, patience: Circumstances['patience']): Verdict {
    if (this.done.has(event.id)) return 'duplicate';
    const fetched = new Map<string, FetchedObject>();
    for (let round = 0; round <= 5; round += 1) {
      const decision = this.decide(event, fetched, patience);
      if (decision.kind === 'fetch') {
        for (const reference of decision.references) fetched.set(nameOf(reference), this.ask(reference));
        continue;
      }
      if (decision.kind === 'wait') {
        if (patience === 'waiting') return 'waiting';
        if (decision.fetch !== null && !fetched.has(nameOf(decision.fetch))) {
          fetched.set(nameOf(decision.fetch), this.ask(decision.fetch));
          continue;
        }
        return this.quarantine(event, decision.reason, null);
      }
      if (decision.kind === 'quarantine') return this.quarantine(event, decision.reason, decision.keep);
      this.done.add(event.id);
      if (decision.kind === 'ignore') return 'ignored';
      this.orderCase = decision.next;
      this.checkRefunds(event);
      for (const operation of decision.operations) this.plan(operation);
      return decision.outcome;
    }
    throw new Error(`${event.type} asks without end`);
  }

  private quarantine(event: HistoryEvent, reason: string, keep: OrderCase | null): Verdict {
    this.done.add(event.id);
    this.quarantined.push(`${event.type}: ${reason}`);
    if (keep !== null) this.orderCase = keep;
    return `quarantined:${reason}`;
  }

  /** At every moment, not only in the end. */
  private checkRefunds({ type }: HistoryEvent): void {
    for (const { paymentId, capturedMinor } of this.orderCase.payments) {
      const active = this.orderCase.refunds.filter((refund) => refund.paymentId === paymentId && isActive(refund));
      const refunded = active.reduce((sum, { amountMinor }) => sum + amountMinor, 0);
      if (refunded > capturedMinor) throw new Error(`${type} refunds ${refunded} of ${capturedMinor}`);
    }
  }

  private plan(operation: PlannedOperation): void {
    const known = this.planned.get(operation.key);
    if (known !== undefined && JSON.stringify(known.params) !== JSON.stringify(operation.params)) {
      throw new Error(`${operation.key} is planned with other parameters`);
    }
    this.planned.set(operation.key, operation);
  }

  private decide(
    { id, type, data }: HistoryEvent,
    fetched: ReadonlyMap<string, FetchedObject>,
    patience: Circumstances['patience'],
  ): Decision {
    const event: WebhookEvent = {
      scope: 'stripe:acct_test:test',
      eventId: id,
      type,
      source: 'stripe',
      tenant: 'default',
      receivedAt: new Date(0),
      providerCreatedAt: null,
      payloadText: '',
      payload: { data },
      fetched: (reference) => fetched.get(nameOf(reference)),
    };
    const read = readFact(event, FACT_TYPES.get(type)!, null);
    if (read.kind !== 'fact') throw new Error(`${type} does not read: ${read.kind}`);
    const looks = looksOf(event, null);
    return decide(this.locate(read.fact, looks), read.fact, circumstances({ looks, patience }));
  }

  /** As the tables would: by a payment of the order, or by the reference in its metadata. */
  private locate(fact: Fact, looks: Looks): Located {
    const { paymentId } = fact;
    const isKnown =
      'about' in fact ||
      this.orderCase.order.providerPaymentId === paymentId ||
      this.orderCase.payments.some((payment) => payment.paymentId === paymentId) ||
      (paymentId !== null && looks.payment(paymentId).kind === 'found');
    return isKnown ? { kind: 'case', orderCase: this.orderCase, paymentId } : { kind: 'nowhere', paymentId };
  }

  private ask(reference: FetchReference): FetchedObject {
    return this.canAsk === 'nobody' ? { kind: 'unavailable' } : this.history.answer(reference);
  }
}

function nameOf({ type, id }: FetchReference): string {
  return `${type}:${id}`;
}
