import type { Answer } from './answer.js';

type Kept =
  | { readonly kind: 'running'; readonly fingerprint: string }
  | { readonly kind: 'done'; readonly fingerprint: string; readonly answer: Answer; readonly at: number };

export type Admission =
  | { readonly kind: 'new' }
  | { readonly kind: 'replay'; readonly answer: Answer }
  | { readonly kind: 'in_flight' }
  | { readonly kind: 'other_request' };

/**
 * Stripe's v1 rules (docs.stripe.com/api/idempotent_requests): the first answer is kept once execution began, 500s
 * included; another request under the key is an error; a key may be forgotten after 24 h, and here it is.
 */
export interface IdempotencyStore {
  /** `new` marks the key as running; settle it with `keep` or `forget`. */
  readonly admit: (key: string, fingerprint: string) => Admission;
  readonly keep: (key: string, fingerprint: string, answer: Answer) => void;
  readonly forget: (key: string) => void;
}

const KEPT_MS = 24 * 3_600_000;

export function createIdempotencyStore(now: () => number): IdempotencyStore {
  const kept = new Map<string, Kept>();
  return {
    admit: (key, fingerprint) => {
      const known = kept.get(key);
      if (known === undefined || (known.kind === 'done' && now() - known.at >= KEPT_MS)) {
        kept.set(key, { kind: 'running', fingerprint });
        return { kind: 'new' };
      }
      if (known.fingerprint !== fingerprint) return { kind: 'other_request' };
      return known.kind === 'running' ? { kind: 'in_flight' } : { kind: 'replay', answer: known.answer };
    },
    keep: (key, fingerprint, answer) => {
      kept.set(key, { kind: 'done', fingerprint, answer, at: now() });
    },
    forget: (key) => {
      kept.delete(key);
    },
  };
}
