import type { ApplySource } from '../../activities/apply-event.js';
import type { HandlerSet } from '../api/handlers.js';
import type { Config, SourceConfig } from '../config/config.js';
import { ConfigError } from '../errors.js';
import { ordersHandlers } from '../handlers/orders/index.js';
import { accountOfScope, createStripeFetcher } from '../providers/stripe-objects.js';

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
    ['orders', ordersHandlers({ confirmPaidByEmail: config.email.orderPaid !== 'off' })],
    ['none', { handlers: new Map() }],
  ]);
}

function workerSource(config: Config, source: SourceConfig, handlerSets: ReadonlyMap<string, HandlerSet>): ApplySource {
  const handlers = handlerSets.get(source.handlers);
  if (handlers === undefined) {
    throw new ConfigError([`sources.${source.name}.handlers: there is no handler set "${source.handlers}"`]);
  }
  const activeFrom = source.activeFrom ?? null;
  if (source.kind !== 'stripe') {
    return {
      handlers,
      activeFrom,
      tenantOf: () => source.tenant,
      fetch: () => Promise.resolve({ kind: 'unavailable' }),
    };
  }
  return {
    handlers,
    activeFrom,
    tenantOf: (scope) => source.accounts.get(accountOfScope(scope)) ?? source.tenant,
    fetch: createStripeFetcher({
      apiKey: source.apiKey?.reveal() ?? null,
      apiBase: config.environment.stripeApiBase,
      ownAccount: source.account,
    }),
  };
}
