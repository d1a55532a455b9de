import Stripe from 'stripe';

/** A source of Stripe events as the one that acts in its name sees it. */
export interface StripeSourceAccess {
  readonly account: string;
  readonly mode: 'live' | 'test' | 'any';
  /** Connected accounts that the source speaks for. */
  readonly connected: { readonly has: (account: string) => boolean };
  /** Null when the source has none. */
  readonly apiKey: { readonly reveal: () => string } | null;
}

/** Stripe in the name of one account, for one attempt. */
export interface StripeConnection {
  readonly stripe: Stripe;
  /** Goes with every request. */
  readonly request: Stripe.RequestOptions;
}

/** @returns null when no source with a key speaks for the scope's account and mode. */
export type ConnectStripe = (scope: string, signal: AbortSignal) => StripeConnection | null;

export interface StripeAccessOptions {
  readonly sources: readonly StripeSourceAccess[];
  /** Another base than Stripe's own, for stand-ins. */
  readonly apiBase: string | null;
}

/** Above an attempt's 10 s: what ends a request is the attempt's signal, which covers the whole of it; in milliseconds. */
const TIMEOUT_MS = 15_000;

/** Finds the key for a scope among the sources. */
export function createStripeAccess({ sources, apiBase }: StripeAccessOptions): ConnectStripe {
  return (scope, signal) => {
    const account = accountOfScope(scope);
    const mode = scope.endsWith(':live') ? 'live' : 'test';
    for (const source of sources) {
      const apiKey = source.apiKey?.reveal();
      if (apiKey === undefined || !speaksFor(source, account, mode) || !isOfMode(apiKey, mode)) continue;
      return { stripe: connect(apiKey, apiBase, signal), request: inTheNameOf(account, source.account) };
    }
    return null;
  };
}

/** A path of accounts is a context, as organizations have; one account is a connected one. */
export function inTheNameOf(account: string, ownAccount: string): Stripe.RequestOptions {
  if (account === ownAccount) return {};
  return account.includes('/') ? { stripeContext: account } : { stripeAccount: account };
}

/** `stripe:{account}:{mode}`; the account may hold colons no more than Stripe's own do. */
export function accountOfScope(scope: string): string {
  return scope.split(':').slice(1, -1).join(':');
}

export function baseOf(apiBase: string | null): Stripe.StripeConfig {
  if (apiBase === null) return {};
  const { protocol, hostname, port } = new URL(apiBase);
  const secure = protocol === 'https:';
  return {
    protocol: secure ? 'https' : 'http',
    host: hostname,
    port: port === '' ? (secure ? 443 : 80) : Number(port),
  };
}

function speaksFor(source: StripeSourceAccess, account: string, mode: 'live' | 'test'): boolean {
  if (source.mode !== 'any' && source.mode !== mode) return false;
  return source.account === account || source.connected.has(account);
}

/** A key says in its prefix which mode it is of; one that does not say is taken as it is. */
function isOfMode(apiKey: string, mode: 'live' | 'test'): boolean {
  const stated = /^[a-z]+_(live|test)_/.exec(apiKey)?.[1];
  return stated === undefined || stated === mode;
}

/**
 * By `fetch`, for two reasons: the signal ends a request that drips, where the SDK's own timeout is about silence only;
 * and the SDK's other client sends once more after a reset, also when it is told not to (stripe 23, RequestSender).
 */
function connect(apiKey: string, apiBase: string | null, signal: AbortSignal): Stripe {
  return new Stripe(apiKey, {
    httpClient: Stripe.createFetchHttpClient((url, init) =>
      fetch(url, { ...init, signal: anyOf(init?.signal, signal) }),
    ),
    maxNetworkRetries: 0,
    timeout: TIMEOUT_MS,
    telemetry: false,
    ...baseOf(apiBase),
  });
}

function anyOf(first: AbortSignal | null | undefined, second: AbortSignal): AbortSignal {
  return first === null || first === undefined ? second : AbortSignal.any([first, second]);
}
