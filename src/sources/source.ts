import type { InboxOutcome } from '../domain/event.js';

/** Every value of every header, by lower-case name, as node gives it in `req.headersDistinct` (latin1 text). */
export type DistinctHeaders = Readonly<Record<string, readonly string[] | undefined>>;

export interface VerificationInput {
  readonly headers: DistinctHeaders;
  /** The bytes as they came; nothing has decoded or parsed them. */
  readonly body: Buffer;
  /** Every secret that is valid now, in configured order; never empty. */
  readonly secrets: readonly string[];
  /** How far the signed time may lie from ours, in either direction, in milliseconds. */
  readonly toleranceMs: number;
  /** The receiver's clock when the request arrived, in whole Unix seconds. */
  readonly nowSeconds: number;
}

/** Why a delivery was refused. For the operator only: the caller hears `invalid_signature`, whatever it was. */
export type SignatureRefusal =
  | {
      readonly ok: false;
      readonly cause: 'missing_header' | 'malformed_header' | 'no_supported_signature' | 'no_matching_secret';
    }
  /** The signature is right and the time is not: a wrong clock, or an old delivery played again. */
  | {
      readonly ok: false;
      readonly cause: 'timestamp_out_of_tolerance';
      /** Sender's time minus ours: negative when the delivery is old. */
      readonly skewSeconds: number;
    };

export type Verification =
  /** `secretPosition` counts from 0: which of `secrets` matched. */
  { readonly ok: true; readonly secretPosition: number } | SignatureRefusal;

/** What becomes of a verified event on receipt. Everything but `process` is final or waits for an operator. */
export type Disposition =
  | { readonly kind: 'process' }
  | { readonly kind: 'done'; readonly outcome: InboxOutcome; readonly reason: string | null }
  | { readonly kind: 'quarantined'; readonly reason: string };

/** What the receiver needs to know of a verified event; all of it well-formed text that may be stored and logged. */
export interface Envelope {
  readonly eventId: string;
  readonly eventType: string;
  readonly scope: string;
  /** `null` when the event's account belongs to no configured tenant. */
  readonly tenant: string | null;
  /** When the provider says that it made the event, ISO 8601 in UTC; `null` when it does not say so intelligibly. */
  readonly providerCreatedAt: string | null;
  /** The sender's own name for the API request that caused the event, if it tells. */
  readonly senderRequestId: string | null;
  readonly disposition: Disposition;
}

export interface EnvelopeInput {
  readonly headers: DistinctHeaders;
  /** The body as `JSON.parse` gave it: numbers over 2^53 are rounded. */
  readonly payload: unknown;
}

/** Who sent this, and is it really them: one configured source. Pure: no database, no Express, no clock of its own. */
export interface Source {
  readonly name: string;
  verify(input: VerificationInput): Verification;
  /** @returns `undefined` when the verified body is not an event of this kind. */
  envelope(input: EnvelopeInput): Envelope | undefined;
}
