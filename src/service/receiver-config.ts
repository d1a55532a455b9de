import type { Config, SourceConfig } from '../config/config.js';
import type { ReceiverConfig, ReceiverSourceConfig } from '../receiver.js';

/** The part of a configuration that receiving needs. */
export function receiverConfig({ sources, maxBodyMemory }: Config): ReceiverConfig {
  return {
    sources: new Map([...sources].map(([name, source]) => [name, receiverSource(source)])),
    maxBodyMemory,
  };
}

function receiverSource(source: SourceConfig): ReceiverSourceConfig {
  const { response } = source;
  const common = { response: response ?? undefined };
  // GitHub signs no time, and never sends again what was refused, so it has neither setting.
  if (source.kind === 'github') return { ...source, ...common, toleranceMs: 0, rateLimit: undefined };
  return { ...source, ...common, toleranceMs: source.toleranceMs ?? 0, rateLimit: source.rateLimit ?? undefined };
}
