import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { migrate } from '../db/migrate.js';
import { DevStackError } from '../errors.js';
import { createLogger } from '../observability/logger.js';
import { startService, stopServiceLeftBehind } from './child-service.js';
import type { DevDir } from './dev-dir.js';
import { keepRunning, type Part } from './keep-running.js';
import { startMailSink } from './mail-sink.js';
import { isPortFree, stablePort } from './ports.js';
import { startPostgres, type RunningPostgres } from './postgres.js';
import type { Progress } from './progress.js';
import { STAND_IN_KEY, startStandInPart, type StandInPart } from './stripe-account.js';
import { provideTemporal, type TemporalAccess } from './provide-temporal.js';

/** The whole of oncehook on one machine, and where to find its parts. */
export interface Stack extends Servers {
  /** Without a slash at the end. */
  readonly receiverUrl: string;
  /** Where the stand-in for Stripe's API listens; undefined when the user's own key or API base is in force. */
  readonly stripeBase: string | undefined;
}

/** What an application that receives and processes by itself needs beside it. */
export interface Servers {
  /** The superuser's. */
  readonly databaseUrl: string;
  readonly temporal: TemporalAccess;
  /** Every message sent is a file in this folder. */
  readonly mailDir: string;
  readonly smtpUrl: string;
  stop(): Promise<void>;
}

export interface ServersOptions {
  readonly dir: DevDir;
  readonly env: NodeJS.ProcessEnv;
  readonly onProgress: Progress;
  /** Told one line when a part cannot be kept running. */
  readonly onHopeless: (line: string) => void;
  /** Breaks off a start; what has been started by then is stopped. */
  readonly signal: AbortSignal;
}

export interface StackOptions extends ServersOptions {
  /** For the services too, with what they need and we do not provide: secrets, the sender of mail. */
  readonly env: NodeJS.ProcessEnv;
  readonly ports: StackPorts;
}

export interface StackPorts {
  /** What the receiver listens on. */
  readonly host: string;
  /** What reaches it from here, in a URL. */
  readonly reachableHost: string;
  readonly receiver: number;
  readonly receiverAdmin: number;
  readonly workerAdmin: number;
}

const DATABASE = 'oncehook';
const READY_WITHIN_MS = 60_000;
const ROLES = ['worker', 'receiver'] as const;

/** Starts PostgreSQL, Temporal, the mail sink, the migrated schema, worker and receiver; done when all of them work. */
export function startStack(options: StackOptions): Promise<Stack> {
  return orNothing((started) => startParts(options, started));
}

/** The same without what is oncehook's own: worker, receiver, and the stand-in for Stripe. */
export function startServers(options: ServersOptions): Promise<Servers> {
  return orNothing((started) => startSharedParts(options, started));
}

/** Stops what was started when the rest cannot be. */
async function orNothing<Result>(start: (started: Stoppable[]) => Promise<Result>): Promise<Result> {
  const started: Stoppable[] = [];
  try {
    return await start(started);
  } catch (error) {
    await stopAll(started);
    throw error;
  }
}

interface Stoppable {
  stop(): Promise<void>;
}

async function startParts(options: StackOptions, started: Stoppable[]): Promise<Stack> {
  const { dir, ports, signal } = options;
  for (const role of ROLES) await stopServiceLeftBehind({ role, dir: dir.path });
  await refuseTakenPorts(ports);
  const servers = await startSharedParts(options, started);
  const stripeBase = await startStripe(options, started);
  const env = {
    ...servers.temporal.env,
    DATABASE_URL: servers.databaseUrl,
    SMTP_URL: servers.smtpUrl,
    ...(stripeBase === undefined ? {} : { STRIPE_API_BASE: stripeBase, STRIPE_API_KEY: STAND_IN_KEY }),
  };
  const services = ROLES.map((role) => startRole(role, env, options));
  for (const service of await Promise.allSettled(services)) {
    if (service.status === 'fulfilled') started.push(service.value);
  }
  await Promise.all(services); // throws for one that failed, the other being known to `started`
  const receiverUrl = `http://${ports.reachableHost}:${ports.receiver}`;
  await untilReady(`${receiverUrl}/readyz`, signal);
  return { ...servers, receiverUrl, stripeBase };
}

async function startSharedParts(options: ServersOptions, started: Stoppable[]): Promise<Servers> {
  const { dir, onProgress, signal } = options;
  const { postgres, temporal } = await startBoth(options, started);
  signal.throwIfAborted();
  const databaseUrl = postgres.url(DATABASE);
  await prepareDatabase(postgres.url(), databaseUrl, onProgress);
  const mailPort = await stablePort(join(dir.path, 'mail-port'), [1025]);
  const mail = await startMailSink({ dir: join(dir.path, 'mail'), port: mailPort });
  started.push(mail);
  return { databaseUrl, temporal, mailDir: mail.dir, smtpUrl: mail.url, stop: () => stopAll(started) };
}

/** A stand-in, so that refunds can be made and shown; never beside a key of the user's, which is for the real Stripe. */
async function startStripe({ dir, env, ...options }: StackOptions, started: Stoppable[]): Promise<string | undefined> {
  if ((env.STRIPE_API_KEY ?? '') !== '' || (env.STRIPE_API_BASE ?? '') !== '') return undefined;
  const start = (): Promise<StandInPart> => startStandInPart(dir.path);
  const part = await start();
  started.push(keepRunning(part, { name: 'stand-in for Stripe', restart: start, ...options }));
  return part.base;
}

/** Both at once: neither needs the other, and each takes seconds. When one fails the other is not waited for in vain. */
async function startBoth(
  options: ServersOptions,
  started: Stoppable[],
): Promise<{ postgres: RunningPostgres; temporal: TemporalAccess }> {
  const { dir, env, onProgress } = options;
  const failure = new AbortController();
  const signal = AbortSignal.any([options.signal, failure.signal]);
  const startDatabase = async (): Promise<RunningPostgres> => {
    const start = (port?: number): Promise<RunningPostgres> =>
      startPostgres({ dir: join(dir.path, 'postgres'), env, onProgress, ...(port === undefined ? {} : { port }) });
    const server = await start();
    started.push(keepRunning(server, { name: 'PostgreSQL', restart: ({ port }) => start(port), ...options }));
    onProgress(`PostgreSQL 18 ready on port ${server.port}`);
    return server;
  };
  const startWorkflows = async (): Promise<TemporalAccess> => {
    const access = await provideTemporal({ dir: join(dir.path, 'temporal'), env, onProgress, signal });
    if (access.own === undefined) return access;
    started.push(keepRunning(access.own.running, { name: 'Temporal', restart: access.own.restart, ...options }));
    onProgress(`Temporal ready at ${access.address}`);
    return access;
  };
  const failOther = (error: unknown): never => {
    failure.abort(error);
    throw error;
  };
  const [database, workflows] = [startDatabase().catch(failOther), startWorkflows().catch(failOther)];
  await Promise.allSettled([database, workflows]); // nothing is still on its way when a failure is told
  return { postgres: await database, temporal: await workflows };
}

async function startRole(
  role: (typeof ROLES)[number],
  env: NodeJS.ProcessEnv,
  options: StackOptions,
): Promise<Stoppable> {
  const { dir, ports, onProgress, signal } = options;
  const adminPort = role === 'worker' ? ports.workerAdmin : ports.receiverAdmin;
  const serviceEnv = { ...env, HOST: ports.host, PORT: String(ports.receiver), ADMIN_PORT: String(adminPort) };
  const start = (): Promise<Part> =>
    startService({ role, env: serviceEnv, dir: dir.path, onTrouble: onProgress, signal });
  const part = await start();
  onProgress(`${role} ready`);
  return keepRunning(part, { name: role, restart: start, ...options });
}

async function refuseTakenPorts({ receiver, receiverAdmin, workerAdmin }: StackPorts): Promise<void> {
  const wanted = [
    { port: receiver, what: 'the receiver', variable: 'PORT' },
    { port: receiverAdmin, what: "the receiver's metrics", variable: 'ADMIN_PORT' },
    { port: workerAdmin, what: "the worker's metrics (the receiver's plus one)", variable: 'ADMIN_PORT' },
  ];
  for (const { port, what, variable } of wanted) {
    if (await isPortFree(port)) continue;
    throw new DevStackError(
      `Port ${port}, wanted for ${what}, is in use: stop what listens there, or set ${variable} to another one.`,
    );
  }
}

async function prepareDatabase(adminUrl: string, url: string, onProgress: Progress): Promise<void> {
  const admin = new Client({ connectionString: adminUrl });
  await admin.connect();
  try {
    const { rowCount } = await admin.query('select from pg_database where datname = $1', [DATABASE]);
    if (rowCount === 0) await admin.query(`create database ${DATABASE}`);
  } finally {
    await admin.end();
  }
  const { applied } = await migrate({ url, log: createLogger('silent', 'dev') });
  if (applied.length > 0) onProgress(`applied ${applied.length} migrations`);
}

/** Ready once is enough: from then on the receiver is kept running. */
async function untilReady(url: string, signal: AbortSignal): Promise<void> {
  const within = AbortSignal.timeout(READY_WITHIN_MS);
  for (;;) {
    const answer = await fetch(url, { signal }).catch(() => undefined);
    if (answer?.status === 200) return;
    signal.throwIfAborted();
    if (within.aborted) {
      throw new DevStackError(
        `${url} does not say that the receiver is ready: see receiver.log in the stack's folder.`,
      );
    }
    await pause(100);
  }
}

/** The last first: nothing is accepted any more that nobody would carry on. One that does not stop keeps no other running. */
async function stopAll(started: readonly Stoppable[]): Promise<void> {
  const failures: unknown[] = [];
  for (const part of [...started].reverse()) {
    await part.stop().catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw new AggregateError(failures, 'parts of the local stack did not stop');
}
