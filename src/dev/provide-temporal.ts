import { join } from 'node:path';
import { DevStackError } from '../errors.js';
import { createTemporalClient, loadTemporalSettings } from '../temporal/connect.js';
import type { Progress } from './progress.js';
import { findTemporalCli } from './temporal-cli.js';
import { startTemporal, type RunningTemporal } from './temporal.js';

/** A Temporal server to work with. */
export interface TemporalAccess {
  readonly address: string;
  readonly namespace: string;
  /** Without a slash at the end; undefined for a server that we did not start. */
  readonly uiUrl: string | undefined;
  /** The `temporal` program, where we have one. */
  readonly cli: string | undefined;
  /** The environment for processes that use this server. */
  readonly env: NodeJS.ProcessEnv;
  /** Our own server, and how to start it again at the same ports. */
  readonly own?: {
    readonly running: RunningTemporal;
    readonly restart: () => Promise<RunningTemporal>;
  };
}

export interface ProvideOptions {
  readonly dir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly onProgress: Progress;
  readonly signal: AbortSignal;
}

/** Where Temporal's own tools look when nobody tells them. */
const USUAL_PORTS = { port: 7233, uiPort: 8233 };
const ANSWER_WITHIN_MS = 10_000;

/** The server at TEMPORAL_ADDRESS if that is set, else one of our own in `dir`. */
export async function provideTemporal(options: ProvideOptions): Promise<TemporalAccess> {
  const address = options.env.TEMPORAL_ADDRESS ?? '';
  return address === '' ? startOwn(options) : useExisting(address, options);
}

async function startOwn({ dir, env, onProgress, signal }: ProvideOptions): Promise<TemporalAccess> {
  const cli = await findTemporalCli({ env, onProgress, signal });
  const start = (ports: { port?: number; uiPort?: number } = {}): Promise<RunningTemporal> =>
    startTemporal({ dir, cli, onProgress, preferred: USUAL_PORTS, ...ports });
  const running = await start();
  const { address, namespace, uiUrl } = running;
  const restart = (): Promise<RunningTemporal> => start({ port: portOf(`http://${address}`), uiPort: portOf(uiUrl) });
  return { address, namespace, uiUrl, cli, env: environmentFor(running, dir, env), own: { running, restart } };
}

/** Without the caller's other TEMPORAL_* variables and profile: a key or certificate for some cloud is not for this server. */
function environmentFor(
  { address, namespace }: RunningTemporal,
  dir: string,
  env: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  const { TEMPORAL_TASK_QUEUE } = env;
  return {
    ...Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_'))),
    ...(TEMPORAL_TASK_QUEUE === undefined ? {} : { TEMPORAL_TASK_QUEUE }),
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
    TEMPORAL_CONFIG_FILE: join(dir, 'no-profile.toml'), // a missing file is no profile
  };
}

async function useExisting(address: string, { env, onProgress }: ProvideOptions): Promise<TemporalAccess> {
  const settings = loadTemporalSettings(env);
  const { client, close } = createTemporalClient(settings);
  const { namespace } = settings;
  try {
    await client.withDeadline(Date.now() + ANSWER_WITHIN_MS, () =>
      client.workflowService.describeNamespace({ namespace }),
    );
  } catch (error) {
    throw new DevStackError(
      `No Temporal with namespace "${namespace}" answers at TEMPORAL_ADDRESS ${address}: start it, or unset TEMPORAL_ADDRESS so that a local server is started.`,
      { cause: error },
    );
  } finally {
    await close();
  }
  onProgress(`using the Temporal server at ${address}, namespace ${namespace}`);
  return { address, namespace, uiUrl: undefined, cli: undefined, env };
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}
