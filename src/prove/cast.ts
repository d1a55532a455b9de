import { completeEvent, copyOf, type CompleteEvent } from '../testing/test-event.js';
import type { Proof } from '../testing/proof.js';
import type { DeliveryKind } from '../testing/sequences.js';

/** Everything that acts in a proof, under the names that reports use. */
export interface Cast {
  readonly events: readonly CastEvent[];
  readonly steps: readonly CastStep[];
}

export interface CastEvent {
  /** Its type, with its ID where several have that type. */
  readonly name: string;
  readonly event: CompleteEvent;
  readonly copy: CompleteEvent;
}

export interface CastStep {
  readonly name: string;
  readonly run: NonNullable<Proof['steps']>[string];
}

export function castOf(proof: Proof): Cast {
  const scope = proof.scope ?? 'stripe:default:test';
  const completed = proof.events.map((event, at) => completeEvent(event, { id: `evt_${at + 1}`, scope }));
  return {
    events: completed.map((event) => ({
      name:
        completed.filter(({ type }) => type === event.type).length === 1
          ? event.type
          : `${event.type} (${event.eventId})`,
      event,
      copy: copyOf(event, `${event.eventId}_again`),
    })),
    steps: Object.entries(proof.steps ?? {}).map(([name, run]) => ({ name, run })),
  };
}

export function eventOf(cast: Cast, at: number, as: DeliveryKind): CompleteEvent {
  const found = cast.events[at];
  if (found === undefined) throw new RangeError(`There is no event ${at + 1} in this proof`);
  return as === 'copy' ? found.copy : found.event;
}

export function stepOf(cast: Cast, at: number): CastStep {
  const found = cast.steps[at];
  if (found === undefined) throw new RangeError(`There is no step ${at + 1} in this proof`);
  return found;
}
