/*
 * For `setupFiles` of vitest: makes the matchers known to `expect` and to its types. The only module of this package
 * whose import has an effect, since a setup file is imported for nothing else.
 */
import { expect } from 'vitest';
import { webhookMatchers, type WebhookMatchers } from './matchers.js';

expect.extend(webhookMatchers);

declare module 'vitest' {
  // Type parameters of one interface must agree in all its declarations, so this one has vitest's, unused.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any, @typescript-eslint/no-empty-object-type, @typescript-eslint/no-unused-vars -- see above
  interface Matchers<T = any> extends WebhookMatchers<void> {}
}
