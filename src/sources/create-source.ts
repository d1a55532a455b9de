import { githubSource, type GithubSettings } from './github.js';
import { hmacSource, type HmacSettings } from './hmac.js';
import type { Source } from './source.js';
import { standardWebhooksSource, type StandardWebhooksSettings } from './standard-webhooks.js';
import { stripeSource, type StripeSettings } from './stripe.js';

/** What the configuration says of a source, by kind. */
export type SourceSettings =
  | ({ readonly kind: 'stripe' } & StripeSettings)
  | ({ readonly kind: 'github' } & GithubSettings)
  | ({ readonly kind: 'standard-webhooks' } & StandardWebhooksSettings)
  | ({ readonly kind: 'hmac' } & HmacSettings);

export function createSource(settings: SourceSettings): Source {
  switch (settings.kind) {
    case 'stripe':
      return stripeSource(settings);
    case 'github':
      return githubSource(settings);
    case 'standard-webhooks':
      return standardWebhooksSource(settings);
    case 'hmac':
      return hmacSource(settings);
  }
}
