import { ConfigError } from '../errors.js';
import type { Source } from './source.js';
import { stripeSource, type StripeSettings } from './stripe.js';

/** What the configuration says of a source, by kind. */
export type SourceSettings = { readonly kind: 'stripe' } & StripeSettings;

/** Every kind that is built. A Map: names from outside must not find what objects inherit. */
const KINDS: ReadonlyMap<string, (settings: SourceSettings) => Source> = new Map([['stripe', stripeSource]]);

/** @throws ConfigError naming the kinds that exist. */
export function createSource(settings: SourceSettings): Source {
  const create = KINDS.get(settings.kind);
  if (create === undefined) {
    throw new ConfigError([
      `source ${settings.name}: kind ${settings.kind} is not built; there is ${[...KINDS.keys()].join(', ')}`,
    ]);
  }
  return create(settings);
}
