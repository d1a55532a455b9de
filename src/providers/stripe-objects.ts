import Stripe from 'stripe';
import type { FetchedObject } from '../api/handlers.js';
import type { FetchReference } from '../domain/outcome.js';
import { DeadlineError } from '../errors.js';
import { accountOfScope, baseOf, inTheNameOf } from './stripe-access.js';

export interface StripeFetcherOptions {
  /** Null when the source has no key: then nobody can be asked. */
  readonly apiKey: string | null;
  /** Another base than Stripe's own, for stand-ins. */
  readonly apiBase: string | null;
  /** The account that the key belongs to; a connected account's objects are asked for in its name. */
  readonly ownAccount: string;
}

/** One look at the provider, in milliseconds; the apply step as a whole may take 15 s. */
const DEADLINE_MS = 5_000;

/**
 * Fetches Stripe objects by reference, in the name of the scope's account.
 * @returns a function that throws when Stripe cannot be asked or refuses the key: nothing is known then.
 */
export function createStripeFetcher(
  options: StripeFetcherOptions,
): (scope: string, reference: FetchReference) => Promise<FetchedObject> {
  const { apiKey, apiBase, ownAccount } = options;
  if (apiKey === null) return () => Promise.resolve({ kind: 'unavailable' });
  const stripe = new Stripe(apiKey, {
    maxNetworkRetries: 0,
    timeout: DEADLINE_MS,
    telemetry: false,
    ...baseOf(apiBase),
  });

  return async (scope, reference) => {
    const retrieve = RETRIEVE.get(reference.type);
    if (retrieve === undefined) return { kind: 'unavailable' };
    const request = inTheNameOf(accountOfScope(scope), ownAccount);
    try {
      // The SDK's timeout is about inactivity only, so a dripping answer needs a deadline of ours.
      return { kind: 'found', object: await withDeadline(retrieve(stripe, reference.id, request)) };
    } catch (error) {
      if (error instanceof Stripe.errors.StripeError && error.statusCode === 404) return { kind: 'missing' };
      if (error instanceof DeadlineError) throw error;
      throw new DeadlineError('The provider could not be asked', { cause: error });
    }
  };
}

type Retrieve = (stripe: Stripe, id: string, request: Stripe.RequestOptions) => Promise<unknown>;

/** Objects that handlers may ask for, by the names that Stripe gives them in `object` and `related_object.type`. */
const RETRIEVE: ReadonlyMap<string, Retrieve> = new Map<string, Retrieve>([
  ['payment_intent', (stripe, id, request) => stripe.paymentIntents.retrieve(id, {}, request)],
  ['charge', (stripe, id, request) => stripe.charges.retrieve(id, {}, request)],
  ['refund', (stripe, id, request) => stripe.refunds.retrieve(id, {}, request)],
  ['refunds_of_payment', listRefunds],
  ['dispute', (stripe, id, request) => stripe.disputes.retrieve(id, {}, request)],
  ['checkout.session', (stripe, id, request) => stripe.checkout.sessions.retrieve(id, {}, request)],
  ['invoice', (stripe, id, request) => stripe.invoices.retrieve(id, {}, request)],
  ['subscription', (stripe, id, request) => stripe.subscriptions.retrieve(id, {}, request)],
  ['customer', (stripe, id, request) => stripe.customers.retrieve(id, {}, request)],
]);

/** Far above what any payment has; a list that goes on for ever must not. */
const MAX_REFUNDS = 1_000;

/** Not an object of Stripe's: all refunds of a PaymentIntent, page by page, in the shape of a list. */
async function listRefunds(stripe: Stripe, id: string, request: Stripe.RequestOptions): Promise<unknown> {
  const pages = stripe.refunds.list({ payment_intent: id, limit: 100 }, request);
  return { object: 'list', data: await pages.autoPagingToArray({ limit: MAX_REFUNDS }) };
}

async function withDeadline<Result>(work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new DeadlineError('The provider did not answer in time'));
    }, DEADLINE_MS);
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
