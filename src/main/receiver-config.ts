import type { Config, SourceConfig } from '../config/config.js';
import { ConfigError } from '../errors.js';
import type { ReceiverConfig, ReceiverSourceConfig } from '../receiver.js';

/** The part of a configuration that receiving needs. */
export function receiverConfig({ sources, maxBodyMemory }: Config): ReceiverConfig {
  return {
    sources: new Map([...sources].map(([name, source]) => [name, receiverSource(source)])),
    maxBodyMemory,
  };
}

function receiverSource(source: SourceConfig): ReceiverSourceConfig {
  if (source.kind !== 'stripe') {
    // The configuration refuses them with a better sentence; this keeps the two lists honest with each other.
    throw new ConfigError([`sources.${source.name}.kind: "${source.kind}" is not built yet`]);
  }
  return {
    ...source,
    rateLimit: source.rateLimit ?? undefined,
    response: source.response ?? undefined,
  };
}
