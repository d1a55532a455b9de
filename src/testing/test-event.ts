import { createHash } from 'node:crypto';
import type { EventKey } from '../domain/event.js';
import type { NewEvent } from '../inbox/new-event.js';
import type { StripeEnvelope } from './stripe-event.js';

/** A verified event as a test tells it: what a source would have read from a delivery. */
export interface TestEvent {
  readonly type: string;
  /** The body, as JSON. */
  readonly payload: unknown;
  /** The sender's event ID; a new one by default. */
  readonly id?: string;
  /** The bench's own by default. */
  readonly scope?: string;
  /** When the sender says it happened. */
  readonly created?: Date;
}

/** What can be delivered: an event, or a Stripe envelope, which carries its own ID, type and time. */
export type DeliverableEvent = TestEvent | StripeEnvelope;

/** An event with nothing left open. */
export interface CompleteEvent extends EventKey {
  readonly type: string;
  readonly payload: unknown;
  readonly created: Date | null;
}

export function completeEvent(
  event: DeliverableEvent,
  defaults: { readonly id: string; readonly scope: string },
): CompleteEvent {
  if ('payload' in event) {
    const { type, payload, id = defaults.id, scope = defaults.scope, created = null } = event;
    return { type, payload, eventId: id, scope, created };
  }
  const { type, id, created } = event;
  return { type, payload: event, eventId: id, scope: defaults.scope, created: new Date(created * 1000) };
}

/** The same content as its sender would tell it under another event ID. */
export function copyOf(event: CompleteEvent, eventId: string): CompleteEvent {
  return { ...event, eventId, payload: withId(event.payload, event.eventId, eventId) };
}

function withId(payload: unknown, from: string, to: string): unknown {
  if (typeof payload !== 'object' || payload === null || !('id' in payload) || payload.id !== from) return payload;
  return { ...payload, id: to };
}

/** The row that a receiver would store for it. */
export function newEventOf(event: CompleteEvent, source: string): NewEvent {
  const payloadText = JSON.stringify(event.payload);
  return {
    scope: event.scope,
    eventId: event.eventId,
    source,
    eventType: event.type,
    identity: 'signed',
    status: 'pending',
    outcome: null,
    reason: null,
    requestId: 'test',
    providerCreatedAt: event.created?.toISOString() ?? null,
    twinEventId: null,
    signedSha256: createHash('sha256').update(payloadText).digest(),
    secretPosition: 0,
    payloadText,
  };
}
