import type { Admission, ApplySource } from '../../activities/apply-event.js';
import { handlerSetProblems, type HandlerSet } from '../api/handlers.js';
import type { Config, SourceConfig, StripeSourceConfig } from '../config/config.js';
import { ConfigError } from '../errors.js';
import { calendarHandlers } from '../handlers/calendar/index.js';
import { ledgerHandlers } from '../handlers/ledger/index.js';
import { ordersHandlers, type OrdersOptions } from '../handlers/orders/index.js';
import { accountOfScope, type StripeSourceAccess } from '../providers/stripe-access.js';
import { createStripeFetcher } from '../providers/stripe-objects.js';
import { readThinEvent } from '../providers/stripe-thin-event.js';

/** The sources of a configuration as a worker needs them: with their handlers, tenants and fetchers. */
export function workerSources(
  config: Config,
  handlerSets: ReadonlyMap<string, HandlerSet>,
): ReadonlyMap<string, ApplySource> {
  return new Map([...config.sources].map(([name, source]) => [name, workerSource(config, source, handlerSets)]));
}

/** The sets that come with oncehook, by their configured names. */
export function builtInHandlerSets(config: Config): ReadonlyMap<string, HandlerSet> {
  return new Map([
    ['orders', ordersHandlers(ordersOptions(config))],
    ['ledger', ledgerHandlers()],
    ['calendar', calendarHandlers({ push: config.calendar !== null })],
    ['none', { handlers: new Map() }],
  ]);
}

function ordersOptions({ orders, email, sources }: Config): OrdersOptions {
  return {
    policies: { latePayment: orders.latePayment, secondPayment: orders.secondPayment, overpaid: orders.overpaid },
    mails: {
      orderPaid: email.orderPaid !== 'off',
      refundSucceeded: email.refundSucceeded !== 'off',
      refundFailedTo: email.refundFailed === 'off' ? null : email.merchant,
    },
    ownsOf: (name) => {
      const source = sources.get(name);
      return source?.kind === 'stripe' ? (source.owns?.metadata ?? null) : null;
    },
  };
}

/** What Stripe's sources give to those who act in their name. */
export function stripeAccesses({ sources }: Config): readonly StripeSourceAccess[] {
  return [...sources.values()]
    .filter((source) => source.kind === 'stripe')
    .map(({ account, mode, accounts, apiKey }) => ({ account, mode, connected: accounts, apiKey }));
}

function workerSource(config: Config, source: SourceConfig, handlerSets: ReadonlyMap<string, HandlerSet>): ApplySource {
  if (!handlerSets.has(source.handlers)) {
    throw new ConfigError([`sources.${source.name}.handlers: there is no handler set "${source.handlers}"`]);
  }
  const handlers = handlerSets.get(source.handlers);
  const problems = handlerSetProblems(handlers);
  if (handlers === undefined || problems.length > 0) {
    throw new ConfigError(problems.map((problem) => `handler set "${source.handlers}": ${problem}`));
  }
  const activeFrom = source.activeFrom ?? null;
  const { shadow } = source;
  if (source.kind !== 'stripe') {
    return {
      handlers,
      activeFrom,
      shadow,
      admit: () => ({ kind: 'tenant', tenant: source.tenant }),
      fetch: () => Promise.resolve({ kind: 'unavailable' }),
    };
  }
  return {
    handlers,
    activeFrom,
    shadow,
    admit: (scope) => admitStripe(source, scope),
    readReference: readThinEvent,
    fetch: createStripeFetcher({
      apiKey: source.apiKey?.reveal() ?? null,
      apiBase: config.environment.stripeApiBase,
      ownAccount: source.account,
    }),
  };
}

/** The receiver's judgement of a scope, made again: a replay runs under today's configuration, not around it. */
function admitStripe(source: StripeSourceConfig, scope: string): Admission {
  const mode = scope.endsWith(':live') ? 'live' : 'test';
  if (source.mode !== 'any' && source.mode !== mode) return { kind: 'refused', reason: 'mode_mismatch' };
  const account = accountOfScope(scope);
  const tenant = account === source.account ? source.tenant : source.accounts.get(account);
  return tenant === undefined ? { kind: 'refused', reason: 'account_mismatch' } : { kind: 'tenant', tenant };
}
