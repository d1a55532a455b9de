/*
 * How a sender with an HMAC of its own making is described: told by the configuration, followed by the source.
 */

/** What a sender signs, and where it puts it. */
export interface HmacSignature {
  /** Lower case. */
  readonly header: string;
  readonly algorithm: 'sha256' | 'sha512';
  readonly encoding: 'hex' | 'base64';
  /** Before the signature in its header or field; may be empty. */
  readonly prefix: string;
  /** What is signed, of `{body}` (once), `{timestamp}` and `{id}`. */
  readonly signed: string;
  /** Where the signed time is; `null` when none is signed. */
  readonly timestamp:
    | { readonly kind: 'header'; readonly header: string; readonly unit: 's' | 'ms' }
    | { readonly kind: 'field'; readonly field: string; readonly unit: 's' }
    | null;
  /** `null` when the header is nothing but the signature. */
  readonly fields: { readonly separator: string; readonly signature: string } | null;
}

/** Where an event's ID is. */
export type EventIdPlace =
  | { readonly kind: 'header'; readonly header: string }
  | { readonly kind: 'body'; readonly pointer: string; readonly type: 'string' | 'integer' }
  /** Hashed together; JSON pointers in order. */
  | { readonly kind: 'derived'; readonly pointers: readonly string[] };

/** Where an event's type is. */
export type EventTypePlace =
  { readonly kind: 'header'; readonly header: string } | { readonly kind: 'body'; readonly pointer: string };

/** A body that is a question. */
export interface Challenge {
  readonly when: { readonly pointer: string; readonly equals: string };
  /** JSON pointer of the field that is answered. */
  readonly answer: string;
}
