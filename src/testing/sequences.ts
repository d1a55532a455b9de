/** How a delivery relates to its event: the first one, the same again, or the same content under a new event ID. */
export type DeliveryKind = 'first' | 'again' | 'copy';

export interface SequenceDelivery<Event> {
  readonly event: Event;
  readonly as: DeliveryKind;
}

/** Deliveries in order, with a name for a test's title. */
export interface Sequence<Event> {
  readonly name: string;
  readonly deliveries: readonly SequenceDelivery<Event>[];
}

/** Seven events would have 5,040 orders. */
const MAX_EVENTS = 6;

/**
 * Every order of up to six events, the given one first, each named by its types: `created → failed → succeeded`.
 * @throws RangeError for more than six events
 */
export function* permutations<Event extends { readonly type: string }>(
  events: readonly Event[],
): Generator<Sequence<Event>> {
  const titles = titlesOf(events);
  for (const order of orders(events.length)) {
    yield {
      name: order.map((at) => titles[at]).join(' → '),
      deliveries: order.flatMap((at) => deliveryOf(events[at], 'first')),
    };
  }
}

/** The events in order, with one of them delivered twice: each of them, at each later place, again and as a copy. */
export function* duplicates<Event extends { readonly type: string }>(
  events: readonly Event[],
): Generator<Sequence<Event>> {
  const titles = titlesOf(events);
  for (const [at, event] of events.entries()) {
    for (let place = at + 1; place <= events.length; place += 1) {
      for (const as of ['again', 'copy'] as const) {
        const deliveries = events.flatMap((one) => deliveryOf(one, 'first'));
        deliveries.splice(place, 0, { event, as });
        const names = titles.toSpliced(place, 0, `${titles[at] ?? ''} ${as === 'again' ? 'again' : 'under a new ID'}`);
        yield { name: names.join(' → '), deliveries };
      }
    }
  }
}

/** Orders of the numbers below `count`, in lexical order, so the given one first. */
export function orders(count: number): readonly (readonly number[])[] {
  if (count > MAX_EVENTS + 1) throw new RangeError(`Every order of ${count} events is too many; give at most six`);
  return permute(Array.from({ length: count }, (_, at) => at));
}

function permute(items: readonly number[]): readonly (readonly number[])[] {
  if (items.length <= 1) return [items];
  return items.flatMap((first) => permute(items.filter((item) => item !== first)).map((rest) => [first, ...rest]));
}

/** Types, told apart by a number where one occurs several times. */
function titlesOf(events: readonly { readonly type: string }[]): readonly string[] {
  if (events.length > MAX_EVENTS) {
    throw new RangeError(`Sequences of ${events.length} events are too many; give at most six`);
  }
  return events.map(({ type }, at) => {
    const same = events.filter((other) => other.type === type);
    if (same.length === 1) return type;
    return `${type} #${events.slice(0, at + 1).filter((other) => other.type === type).length}`;
  });
}

function deliveryOf<Event>(event: Event | undefined, as: DeliveryKind): SequenceDelivery<Event>[] {
  return event === undefined ? [] : [{ event, as }];
}
