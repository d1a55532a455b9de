/*
 * For `setupFiles` of vitest: makes the matchers known to `expect` and to its types. The only module of this package
 * whose import has an effect, since a setup file is imported for nothing else.
 */
import { expect } from 'vitest';
import { webhookMatchers, type WebhookMatchers } from './matchers.js';

expect.extend(webhookMatchers);

declare module 'vitest' {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any, @typescript-eslint/no-empty-object-type -- as vitest declares it; declarations of one interface must agree
  interface Matchers<T = any> extends WebhookMatchers<T> {}
}
