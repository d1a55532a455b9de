import type { ApplyEventResult, FetchReference } from '../../src/domain/outcome.js';
import type { FetchedObject } from '../../src/index.js';
import type { ApplyBench } from './apply-bench.js';
import { token } from './payment-event.js';
import { stripeEventBytes } from './vectors.js';

export interface Delivered {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly object: Record<string, unknown> & { id: string } };
}

/** The recorded events of one order, under IDs of their own, and a Stripe that remembers the objects in them. */
export class OrderDeliveries {
  readonly token = token();
  readonly orderId = `order_${this.token}`;
  private readonly objects = new Map<string, Record<string, unknown>>();

  /** A recorded event; `spoil` changes it before it is sent. */
  event(file: string, spoil: (event: Delivered) => void = () => undefined): Delivered {
    const text = stripeEventBytes(`${file}.json`)
      .toString()
      .replaceAll('order_1001', this.orderId)
      .replaceAll('TestOrder1001', this.token);
    const event = JSON.parse(text) as Delivered;
    spoil(event);
    return event;
  }

  /** Makes Stripe answer with these events' objects; of one object the last counts. */
  remember(...events: readonly Delivered[]): void {
    for (const { data } of events) this.objects.set(data.object.id, data.object);
  }

  answer({ type, id }: FetchReference): FetchedObject | undefined {
    if (!id.includes(this.token)) return undefined;
    if (type === 'refunds_of_payment') {
      const data = [...this.objects.values()].filter(
        ({ object, payment_intent: payment }) => object === 'refund' && payment === id,
      );
      return { kind: 'found', object: { object: 'list', data } };
    }
    const object = this.objects.get(id);
    return object === undefined ? undefined : { kind: 'found', object };
  }
}

/**
 * Stores and applies the events in this order, one after the other; what waits is tried again after the others, and
 * in the end as one whose time is up.
 * @returns what became of each, by its place: `applied`, `quarantined:reason` and so on.
 */
export async function deliverInOrder(bench: ApplyBench, events: readonly Delivered[]): Promise<readonly string[]> {
  const results: ApplyEventResult[] = [];
  for (const event of events) {
    await bench.store(event);
    results.push(await bench.apply(event.id));
  }
  for (let looks = 0; looks < 3; looks += 1) {
    for (const [at, event] of events.entries()) {
      if (results[at]?.kind === 'wait') results[at] = await bench.apply(event.id);
    }
  }
  for (const [at, event] of events.entries()) {
    if (results[at]?.kind === 'wait') results[at] = await bench.applyAtHorizon(event.id);
  }
  return results.map(inShort);
}

function inShort(result: ApplyEventResult): string {
  switch (result.kind) {
    case 'done':
      return result.outcome;
    case 'quarantined':
      return `quarantined:${result.reason}`;
    case 'wait':
      return `wait:${result.reason}`;
    case 'missing':
      return 'missing';
  }
}
