import type { Config, EnvironmentConfig, SourceConfig } from './config.js';
import { maskDatabaseUrl, maskSmtpUrl } from './connection-url.js';
import type { Secret } from './secret.js';

/** The effective configuration as one plain object for the one log line at start: secrets as `set` or `unset`. */
export function summarizeConfig(config: Config): Readonly<Record<string, unknown>> {
  const { file, sources, orders, effects, email, calendar, maxBodyMemory, dispatch, retention, environment } = config;
  return {
    file,
    sources: Object.fromEntries([...sources].map(([name, source]) => [name, summarizeSource(source)])),
    orders,
    effects,
    email,
    calendar: calendar === null ? null : { url: setOrUnset(calendar.url) },
    maxBodyMemory,
    dispatch,
    retention,
    environment: summarizeEnvironment(environment),
  };
}

function summarizeSource(source: SourceConfig): Readonly<Record<string, unknown>> {
  const { secrets, secretReferences: _places, name: _key, ...rest } = source;
  const summary = { ...rest, secrets: secrets.current().map(() => 'set'), activeFrom: source.activeFrom ?? null };
  if (source.kind !== 'stripe') return summary;
  return {
    ...summary,
    accounts: Object.fromEntries(source.accounts),
    owns: source.owns === null ? null : { metadata: Object.fromEntries(source.owns.metadata) },
    apiKey: setOrUnset(source.apiKey),
  };
}

function summarizeEnvironment(environment: EnvironmentConfig): Readonly<Record<string, unknown>> {
  const { databaseUrl, smtpUrl, adminToken } = environment;
  return {
    ...environment,
    databaseUrl: databaseUrl === null ? 'unset' : maskDatabaseUrl(databaseUrl.reveal()),
    smtpUrl: smtpUrl === null ? 'unset' : maskSmtpUrl(smtpUrl.reveal()),
    adminToken: setOrUnset(adminToken),
  };
}

function setOrUnset(secret: Secret | null): 'set' | 'unset' {
  return secret === null ? 'unset' : 'set';
}
