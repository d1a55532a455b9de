import type { EnvironmentConfig } from '../config/config.js';

/** Where a receiver with this environment takes a source's deliveries, seen from its own machine. */
export function localUrl({ host, port }: Pick<EnvironmentConfig, 'host' | 'port'>, source: string): string {
  const everywhere = host === '0.0.0.0' || host === '::';
  const name = everywhere ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}/webhooks/${source}`;
}
