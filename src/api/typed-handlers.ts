import type Stripe from 'stripe';
import type { Handler, HandlerSet, WebhookEvent } from './handlers.js';
import { defineHandlers } from './handlers.js';

/** An event whose payload has the form that its sender documents. Documented, not checked: a payload is the sender's. */
export interface TypedEvent<Payload> extends WebhookEvent {
  readonly payload: Payload;
}

/** A handler of events of one documented form. */
export type TypedHandler<Payload> = (
  event: TypedEvent<Payload>,
  ...rest: Parameters<Handler> extends [unknown, ...infer Rest] ? Rest : never
) => ReturnType<Handler>;

/** The form of a type's payload; of a type that the sender's list does not have, nothing is known. */
type PayloadOf<Payloads, Type extends string> = Type extends keyof Payloads ? Payloads[Type] : unknown;

type HandlersByType<Payloads, Type extends string> = {
  readonly [T in Type]: TypedHandler<PayloadOf<Payloads, T>> | readonly TypedHandler<PayloadOf<Payloads, T>>[];
};

/**
 * Makes a `defineHandlers` for the payloads of one sender: `typedHandlers<{ 'user.created': UserCreated }>()`. Types
 * that are not among them stay allowed, with an `unknown` payload: senders add some every month.
 */
export function typedHandlers<Payloads extends object>(): <
  Type extends (keyof Payloads & string) | (string & Record<never, never>),
>(
  handlers: HandlersByType<Payloads, Type>,
) => HandlerSet {
  // What is known of a payload at run time is that it is JSON; the types are the caller's word for its sender.
  return (handlers) => defineHandlers(handlers as unknown as Readonly<Record<string, Handler>>);
}

/** Stripe's events by type, as the `stripe` package describes them. */
export type StripeEvents = { readonly [Event in Stripe.Event as Event['type']]: Event };

/** `defineHandlers` with Stripe's event types: `event.payload.data.object` is the object of that type. */
export const defineStripeHandlers = typedHandlers<StripeEvents>();

/**
 * GitHub's events under the types that oncehook gives them, `{event}.{action}`, from a map of payloads by event such as
 * `EventPayloadMap` of `@octokit/webhooks-types`.
 */
export type GithubEvents<PayloadsByEvent> = UnionToIntersection<
  { [Event in keyof PayloadsByEvent & string]: ByAction<Event, PayloadsByEvent[Event]> }[keyof PayloadsByEvent & string]
>;

type ByAction<Event extends string, Payload> = Payload extends { readonly action: infer Action extends string }
  ? Readonly<Record<`${Event}.${Action}`, Payload>>
  : Readonly<Record<Event, Payload>>;

type UnionToIntersection<Union> = (Union extends unknown ? (member: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never;
