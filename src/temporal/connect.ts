import { loadClientConnectConfig, type ClientConnectConfig } from '@temporalio/envconfig';
import { Client, Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';

export interface TemporalSettings {
  readonly connection: ClientConnectConfig['connectionOptions'];
  readonly namespace: string;
}

/**
 * The standard `TEMPORAL_*` variables and TOML profile, through Temporal's own reader.
 * @throws Error when a named profile or certificate file is missing.
 */
export function loadTemporalSettings(env: Readonly<Record<string, string | undefined>>): TemporalSettings {
  const set = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const { connectionOptions, namespace } = loadClientConnectConfig({ overrideEnvVars: Object.fromEntries(set) });
  return { connection: connectionOptions, namespace: namespace ?? 'default' };
}

/** Two quick retries inside a call; what still fails is the sweeper's. */
const MAX_ATTEMPTS = 3;

/** After an outage the channel looks again at least this often, in milliseconds; gRPC's default is two minutes. */
const MAX_RECONNECT_BACKOFF_MS = 3_000;

export interface TemporalClient {
  readonly client: Client;
  readonly close: () => Promise<void>;
}

/** A client that connects at its first call, so that a process boots and serves while Temporal is down. */
export function createTemporalClient(settings: TemporalSettings): TemporalClient {
  const connection = Connection.lazy({
    ...settings.connection,
    interceptors: [makeGrpcRetryInterceptor(defaultGrpcRetryOptions({ maxAttempts: MAX_ATTEMPTS }))],
    channelArgs: { 'grpc.max_reconnect_backoff_ms': MAX_RECONNECT_BACKOFF_MS },
  });
  return {
    client: new Client({ connection, namespace: settings.namespace }),
    close: () => connection.close(),
  };
}
