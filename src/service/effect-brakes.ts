import type { Config } from '../config/config.js';
import { ConfigError } from '../errors.js';
import { NO_BRAKE, type Brake } from '../operations/brake.js';

/**
 * The configured brake of every kind.
 * @param kinds those of this worker.
 * @throws ConfigError for a brake of a kind that does not exist: it would hold nothing back.
 */
export function effectBrakes({ effects }: Config, kinds: readonly string[]): (kind: string) => Brake {
  const { refund, cancel_payment_intent: cancel, email, own } = effects;
  const problems = Object.keys(own)
    .filter((kind) => !kinds.includes(kind))
    .map((kind) => `effects.${kind}: there is no kind of operation "${kind}"`);
  if (problems.length > 0) throw new ConfigError(problems);
  const brakes = new Map<string, Brake>([
    ...Object.entries(own),
    ['refund', refund],
    ['cancel_payment_intent', { ...cancel, maxAmountMinor: null }],
    ['email', { ...email, maxAmountMinor: null }],
  ]);
  return (kind) => brakes.get(kind) ?? NO_BRAKE;
}
