import { loadConfig, type Config } from '../config/index.js';
import { keptWebhookSecret, type DevDir } from './dev-dir.js';
import { freePort } from './ports.js';
import type { StackPorts } from './stack.js';

export interface DevSettings {
  /** For the services, less what the stack provides. */
  readonly env: NodeJS.ProcessEnv;
  readonly ports: StackPorts;
  /** Of the worker. */
  readonly taskQueue: string;
  /** Undefined when the configuration has no source that the demonstration could be sent to. */
  readonly demoSource: { readonly webhookSecret: string; readonly tenant: string } | undefined;
}

/**
 * The user's environment and configuration file with what a local stack presumes: a generated signing secret, a sender of mail, loopback
 * only. Read once as each service will read it, so that every problem is told before anything is started.
 * @throws ConfigError
 */
export async function readDevSettings(userEnv: NodeJS.ProcessEnv, dir: DevDir): Promise<DevSettings> {
  const env = withDefaults(userEnv, dir);
  // Theirs are not known yet, and are the stack's own business.
  const provided = { ...env, DATABASE_URL: 'postgres://127.0.0.1/oncehook', SMTP_URL: 'smtp://127.0.0.1:25' };
  loadConfig({ env: provided, role: 'worker' });
  const config = loadConfig({ env: provided, role: 'receiver' });
  return {
    env,
    ports: await choosePorts(config),
    taskQueue: config.environment.temporalTaskQueue,
    demoSource: demoSource(config),
  };
}

function withDefaults(userEnv: NodeJS.ProcessEnv, dir: DevDir): NodeJS.ProcessEnv {
  const set = Object.fromEntries(Object.entries(userEnv).filter(([, value]) => value !== ''));
  const logLevel = ['debug', 'trace'].includes(set.LOG_LEVEL ?? '') ? set.LOG_LEVEL : 'info'; // readiness is read from the log
  return {
    HOST: '127.0.0.1',
    EMAIL_FROM: 'Shop <shop@example.com>',
    STRIPE_WEBHOOK_SECRET: keptWebhookSecret(dir),
    ...set,
    LOG_LEVEL: logLevel,
  };
}

async function choosePorts({ environment }: Config): Promise<StackPorts> {
  const { host, port, adminPort } = environment;
  const isEverywhere = host === '0.0.0.0' || host === '::';
  return {
    host,
    reachableHost: isEverywhere ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host,
    receiver: port === 0 ? await freePort() : port,
    receiverAdmin: adminPort === 0 ? await freePort() : adminPort,
    workerAdmin: adminPort === 0 ? await freePort() : adminPort + 1,
  };
}

/** The demonstration's events are test events about orders, signed with the first secret. */
function demoSource({ sources }: Config): DevSettings['demoSource'] {
  const source = sources.get('stripe');
  if (source?.kind !== 'stripe' || source.handlers !== 'orders' || source.mode === 'live') return undefined;
  const [secret] = source.secrets.current();
  return secret === undefined ? undefined : { webhookSecret: secret.reveal(), tenant: source.tenant };
}
