import { parseDuration } from './duration.js';

/**
 * What holds where a configuration says nothing, spelled as the document spells it. One place, read by the parser, the
 * JSON schema and the tests of the documentation.
 */
export const DEFAULTS = {
  source: {
    /** Also the account of a Stripe source that names none; other kinds take their source's name. */
    stripeAccount: 'default',
    mode: 'any',
    tenant: 'default',
    tolerance: '300s',
    maxBodyBytes: 1_048_576,
    /** GitHub's own cap is 25 MB (docs.github.com, webhook payload). */
    githubMaxBodyBytes: 26_214_400,
    contentType: 'text/plain',
    equalBodies: 'suspicious',
    secretEncoding: 'utf8',
  },
  orders: {
    unknownOrderHorizon: '1h',
    firstWait: '5s',
    maxWait: '10m',
    latePayment: 'refund',
    secondPayment: 'refund',
    overpaid: 'quarantine',
  },
  effects: {
    refund: { mode: 'propose', maxAmountMinor: 100_000, perHour: 50 },
    cancel_payment_intent: { mode: 'auto' },
    email: { mode: 'auto' },
  },
  email: { orderPaid: 'resend', refundSucceeded: 'resend', refundFailed: 'resend', giveUpAfter: '3d' },
  maxBodyMemory: 134_217_728,
  dispatch: { startsPerSecond: 50 },
  retention: { payload: '90d', inbox: '400d' },
} as const;

/** Milliseconds of a default. */
export function defaultMs(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new TypeError(`${text} is not a duration`);
  return ms;
}
