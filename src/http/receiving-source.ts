import type { Source } from '../sources/source.js';
import type { RateLimiter } from './rate-limit.js';

/** Hands out a source's secrets for the moment of use. */
export interface SecretSource {
  current(): readonly { reveal(): string }[];
}

/** A configured source with what the receiver holds for it. */
export interface ReceivingSource {
  readonly source: Source;
  /** Asked at every delivery, since secrets are replaced at run time. */
  readonly secrets: SecretSource;
  /** Unused by kinds that sign no time. */
  readonly toleranceMs: number;
  readonly maxBodyBytes: number;
  readonly rateLimiter: RateLimiter | undefined;
  /** Instead of our own body, for senders that read the answer. */
  readonly response: { readonly body: string; readonly contentType: string } | undefined;
}
