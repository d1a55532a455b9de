import type { EventIdentity, InboxOutcome } from '../domain/event.js';

/** Every value of every header, by lower-case name, as node gives it in `req.headersDistinct` (latin1 text). */
export type DistinctHeaders = Readonly<Record<string, readonly string[] | undefined>>;

export interface VerificationInput {
  readonly headers: DistinctHeaders;
  /** The bytes as they came; nothing has decoded or parsed them. */
  readonly body: Buffer;
  /** Every secret that is valid now, in configured order; never empty. */
  readonly secrets: readonly string[];
  /** How far the signed time may lie from ours, in either direction, in milliseconds; unused by kinds that sign none. */
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
  readonly identity: EventIdentity;
  readonly eventType: string;
  readonly scope: string;
  /** `null` when the event's account belongs to no configured tenant. */
  readonly tenant: string | null;
  /** When the provider says that it made the event, ISO 8601 in UTC; `null` when it does not say so intelligibly. */
  readonly providerCreatedAt: string | null;
  /** The sender's own name for the API request that caused the event, if it tells. */
  readonly senderRequestId: string | null;
  /** ID of the event that tells the same change in another form, if the sender says so: a thin event's snapshot twin. */
  readonly twinEventId: string | null;
  readonly disposition: Disposition;
}

/** What a verified body says: an event, or a question of the sender's that is answered and not stored. */
export type Reading =
  { readonly kind: 'event'; readonly envelope: Envelope } | { readonly kind: 'challenge'; readonly answer: string };

export interface ReadingInput {
  readonly headers: DistinctHeaders;
  /** The JSON text of the event, to the character. */
  readonly text: string;
  /** The same as `JSON.parse` gave it: numbers over 2^53 are rounded. */
  readonly payload: unknown;
}

/** Who sent this, and is it really them: one configured source. Pure: no database, no Express, no clock of its own. */
export interface Source {
  readonly name: string;
  verify(input: VerificationInput): Verification;
  /**
   * The JSON text inside a verified body, for senders that wrap it; without this method the body is the text.
   * @returns `undefined` when the body has not the form that its headers promise.
   */
  unwrap?(headers: DistinctHeaders, body: Buffer): Buffer | undefined;
  /** @returns `undefined` when the verified text is not an event of this kind. */
  read(input: ReadingInput): Reading | undefined;
}
