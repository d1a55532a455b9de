import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { AnyOperationDefinition, HandlerSet } from '../api/index.js';
import { inertCheckpoints } from '../checkpoints.js';
import { BUILT_IN_HANDLER_SETS, parseConfig, type Config, type ConfigDocument } from '../config/index.js';
import { ConfigError } from '../errors.js';
import { createLogger, withoutErrorTexts } from '../observability/logger.js';
import { createMetrics } from '../observability/metrics.js';
import { summarizeConfig } from '../config/summarize-config.js';
import type { ServiceContext } from '../service/receiver-service.js';
import { createTemporalClient, loadTemporalSettings, type TemporalSettings } from '../temporal/connect.js';

/**
 * What an application tells oncehook; receiver and worker are made from the same. Nothing of it is kept globally, so
 * one process may hold several.
 */
export interface WebhookOptions {
  /** What `oncehook.yaml` holds; in code, secrets may also be given as they are. */
  readonly config: ConfigDocument;
  /** The application's database, where `oncehook migrate` has made its schema. `DATABASE_URL` by default. */
  readonly databaseUrl?: string;
  /** One's own handler sets, by the names that sources give in `handlers`. */
  readonly handlerSets?: Readonly<Record<string, HandlerSet>>;
  /** One's own kinds of effects. One with the name of a built-in kind takes its place. */
  readonly operations?: readonly AnyOperationDefinition[];
  /** Where oncehook's workflows run; receiver, worker and commands must agree. `oncehook` by default. */
  readonly taskQueue?: string;
  /** A Temporal client to use and leave open; by default one made from the standard `TEMPORAL_*` variables. */
  readonly client?: Client;
  /** Where `${NAME}` in the configuration, and oncehook's variables, are looked up; `process.env` by default. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** A pino logger; by default JSON lines on standard output, at `LOG_LEVEL`. */
  readonly log?: Logger;
}

/** What both halves are built on. */
export interface WebhookContext extends ServiceContext {
  readonly temporal: TemporalSettings;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Closes the client, if it is ours. */
  readonly close: () => Promise<void>;
}

/** Settings of a process of oncehook's own, which an application's process has its own uses for. */
const OF_OUR_PROCESSES = ['HOST', 'PORT', 'ADMIN_HOST', 'ADMIN_PORT', 'ADMIN_TOKEN', 'ONCEHOOK_CHECKPOINT'];

/** @throws ConfigError with every problem of the configuration and the environment at once. */
export function openContext(options: WebhookOptions, role: 'receiver' | 'worker'): WebhookContext {
  const env = environmentOf(options);
  const config = parseConfig(options.config, {
    env,
    role,
    handlerSets: ownNames(options),
    operations: new Set(options.operations?.map(({ kind }) => kind)),
  });
  const log = loggerOf(options, config);
  for (const warning of config.warnings) log.warn(warning);
  log.info({ config: summarizeConfig(config) }, 'configuration');
  const temporal = loadTemporalSettings(env);
  const { client, close } = clientOf(options, temporal);
  const metrics = createMetrics();
  return { config, env, client, close, log, metrics, temporal, checkpoints: inertCheckpoints };
}

/** @throws ConfigError for a name that is taken: whoever reads the configuration would think of the built-in set. */
function ownNames({ handlerSets = {} }: WebhookOptions): ReadonlySet<string> {
  const names = Object.keys(handlerSets);
  const taken = BUILT_IN_HANDLER_SETS.filter((name) => names.includes(name));
  if (taken.length === 0) return new Set(names);
  throw new ConfigError(taken.map((name) => `handlerSets.${name}: is the name of a built-in set; take another`));
}

function environmentOf({
  env = process.env,
  databaseUrl,
  taskQueue,
}: WebhookOptions): Readonly<Record<string, string | undefined>> {
  const kept = Object.entries(env).filter(([name]) => !OF_OUR_PROCESSES.includes(name));
  return {
    ...Object.fromEntries(kept),
    ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
    ...(taskQueue !== undefined && { TEMPORAL_TASK_QUEUE: taskQueue }),
  };
}

function loggerOf({ log }: WebhookOptions, { environment }: Config): Logger {
  return log === undefined ? createLogger(environment.logLevel, 'oncehook') : withoutErrorTexts(log);
}

function clientOf(
  { client }: WebhookOptions,
  temporal: TemporalSettings,
): { readonly client: Client; readonly close: () => Promise<void> } {
  return client === undefined ? createTemporalClient(temporal) : { client, close: () => Promise.resolve() };
}
