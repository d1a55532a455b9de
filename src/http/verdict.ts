import type { Envelope } from '../sources/source.js';
import type { ProblemCode } from './problem.js';

/** What was decided about a delivery; everything that the answer, the log line and the metrics need. */
export type Verdict =
  | {
      readonly kind: 'stored';
      readonly result: 'accepted' | 'duplicate';
      readonly envelope: Envelope;
      /** The ID is derived from fields and was met before with other bytes: the fields do not tell events apart. */
      readonly otherBytes?: boolean;
    }
  /** A verified question of the sender's; nothing is stored. */
  | { readonly kind: 'challenge'; readonly answer: string }
  | {
      readonly kind: 'refused';
      readonly code: ProblemCode;
      /** For the operator; from a closed set. */
      readonly cause: string | undefined;
      readonly facts: RefusalFacts;
    }
  /** The sender went away before its body was complete. */
  | { readonly kind: 'aborted' };

/** What may be logged of a refused delivery. Nothing of the body; nothing of the caller's at all unless verified. */
export interface RefusalFacts {
  /** Sender's time minus ours, of a delivery that was signed correctly. */
  readonly skewSeconds?: number;
  /** How the body differs from what was signed. */
  readonly alteration?: string;
  /** Another configured source whose secret made the signature. */
  readonly signedFor?: string;
  /** Size and SHA-256 of a body that was signed correctly and cannot be used. */
  readonly bytes?: number;
  readonly sha256?: string;
  readonly envelope?: Envelope;
  readonly err?: unknown;
}

export function refused(code: ProblemCode, cause?: string, facts: RefusalFacts = {}): Verdict {
  return { kind: 'refused', code, cause, facts };
}
