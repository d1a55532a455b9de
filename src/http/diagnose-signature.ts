import type { Source, VerificationInput } from '../sources/source.js';
import { bodyVariants } from './body-variants.js';
import { createRateLimiter } from './rate-limit.js';
import type { ReceivingSource } from './receiving-source.js';

/** Why no secret matched, as far as trying can tell. Nothing of the body is in it. */
export type Diagnosis =
  /** Something between the sender and us has changed the bytes. */
  | { readonly cause: 'body_altered'; readonly alteration: string }
  /** The delivery was meant for another configured source, or its secret was put under the wrong one. */
  | { readonly cause: 'secret_of_another_source'; readonly signedFor: string };

export type Diagnose = (source: Source, input: VerificationInput) => Diagnosis | undefined;

/** Every guess costs an HMAC per secret: a flood of bad signatures must stay cheap. */
const PER_SECOND = 5;
const MAX_BODY_BYTES = 256 * 1024;

/**
 * Looks for the likely cause of a signature that matches no secret: the body as it was before a proxy or a parser
 * changed it, or the secret of another source. On bytes only, since nothing unverified may be parsed. At most 5 a
 * second for all sources together; the answer to the sender never depends on it.
 * @param options.now any clock that never runs backwards, in milliseconds
 */
export function createSignatureDiagnosis(options: {
  readonly sources: ReadonlyMap<string, ReceivingSource>;
  readonly now: () => number;
}): Diagnose {
  const budget = createRateLimiter({ perSecond: PER_SECOND, burst: PER_SECOND });
  return (source, input) => {
    if (input.body.length > MAX_BODY_BYTES || !budget.take(options.now())) return undefined;
    for (const { alteration, body } of bodyVariants(input.body)) {
      if (isSigned(source, { ...input, body })) return { cause: 'body_altered', alteration };
    }
    for (const [name, other] of options.sources) {
      if (name === source.name) continue;
      const secrets = other.secrets.current().map((secret) => secret.reveal());
      if (isSigned(other.source, { ...input, secrets })) return { cause: 'secret_of_another_source', signedFor: name };
    }
    return undefined;
  };
}

/** Old or new: only the signature is in question here. */
function isSigned(source: Source, input: VerificationInput): boolean {
  const verification = source.verify(input);
  return verification.ok || verification.cause === 'timestamp_out_of_tolerance';
}
