import { unwatchFile, watchFile, type Stats } from 'node:fs';
import type { Config, SourceConfig } from '../config/config.js';
import { readSecrets, readTextFile, type SecretReference } from '../config/index.js';
import { ConfigError } from '../errors.js';
import type { Logger } from '../observability/logger.js';
import type { Metrics } from '../observability/metrics.js';
import type { Stoppable } from './stoppable.js';

export interface SecretReloadOptions {
  readonly config: Pick<Config, 'sources'>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, 'secretReloads'>;
  /** Whether SIGHUP is ours: only a process of oncehook's own may say so. */
  readonly onHangup: boolean;
  /** How often files are looked at, in milliseconds. */
  readonly intervalMs?: number;
}

const INTERVAL_MS = 2_000;

/**
 * Reads the secrets in files again when a file changes, and all of them on SIGHUP. Looked at by name and not by a watch on
 * the file, since mounted secrets are replaced by moving a link. What a start would refuse is refused here too, and what
 * was in force stays. Secrets in the environment cannot change while a process runs.
 */
export function startSecretReload({
  config,
  env,
  log,
  metrics,
  onHangup,
  intervalMs = INTERVAL_MS,
}: SecretReloadOptions): Stoppable {
  const sources = [...config.sources.values()];
  const reload = (source: SourceConfig, trigger: 'signal' | 'file'): void => {
    const result = reloadSource(source, env, log, trigger);
    metrics.secretReloads.inc({ source: source.name, result });
  };
  const onSignal = (): void => {
    for (const source of sources) reload(source, 'signal');
  };
  if (onHangup) process.on('SIGHUP', onSignal);
  const watched = sources.flatMap((source) =>
    source.secretReferences.flatMap((reference) =>
      watchReference(reference, intervalMs, () => {
        reload(source, 'file');
      }),
    ),
  );
  return {
    name: 'secret reload',
    stop: () => {
      process.off('SIGHUP', onSignal);
      watched.forEach((stop) => {
        stop();
      });
      return Promise.resolve();
    },
  };
}

function watchReference(reference: SecretReference, interval: number, onChange: () => void): (() => void)[] {
  if (reference.kind !== 'file') return [];
  const { path } = reference;
  // An access time changes when we read; what counts is another file or other content.
  const listener = (now: Stats, before: Stats): void => {
    if (now.ino !== before.ino || now.mtimeMs !== before.mtimeMs || now.size !== before.size) onChange();
  };
  watchFile(path, { interval, persistent: false }, listener);
  return [
    () => {
      unwatchFile(path, listener);
    },
  ];
}

function reloadSource(
  source: SourceConfig,
  env: SecretReloadOptions['env'],
  log: Logger,
  trigger: 'signal' | 'file',
): 'replaced' | 'unchanged' | 'refused' {
  try {
    const secrets = readSecrets(source, { env, readFile: readTextFile });
    const before = source.secrets.current();
    const same =
      secrets.length === before.length && secrets.every((secret, at) => secret.reveal() === before[at]?.reveal());
    if (same) return 'unchanged';
    source.secrets.replace(secrets);
    log.info({ source: source.name, secrets: secrets.length, trigger }, 'secrets replaced');
    return 'replaced';
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    log.error(
      { source: source.name, trigger, problems: error.problems },
      'secrets not replaced: those in force before stay in force',
    );
    return 'refused';
  }
}
