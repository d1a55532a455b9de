import { LOG_LEVELS, type EnvironmentConfig } from './config.js';
import { apiBase, databaseUrlFault, smtpUrlFault } from './connection-url.js';
import { parseMailbox } from './mailbox.js';
import { inEnvironment, type Findings, type Problem } from './problem.js';
import { Secret } from './secret.js';
import type { Environment } from './secret-reference.js';

/**
 * Which rules hold: a receiver must be able to verify and store, a worker to act. A tool (a command, or a library
 * user's own process) asks for what it needs itself.
 */
export type Role = 'receiver' | 'worker' | 'tool';

export interface EnvironmentRead extends Findings {
  /** To be used only when there are no problems: what could not be read has its default. */
  readonly environment: EnvironmentConfig;
}

const ADMIN_PORTS: Readonly<Record<Role, number>> = { receiver: 3001, worker: 3002, tool: 3001 };

/** An admin token below this can be guessed by trying. */
const SHORT_TOKEN = 16;

/** Reads every variable of ours. Values are never quoted: a secret may have been put into the wrong one. */
export function readEnvironment(env: Environment, role: Role): EnvironmentRead {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  const read = variableReader(env, problems);

  const environment: EnvironmentConfig = {
    databaseUrl: read('DATABASE_URL', null, (text) => faultOr(databaseUrlFault(text), new Secret(text))),
    host: read('HOST', '0.0.0.0', parseHost),
    port: read('PORT', 3000, parsePort),
    adminHost: read('ADMIN_HOST', '127.0.0.1', parseHost),
    adminPort: read('ADMIN_PORT', ADMIN_PORTS[role], parsePort),
    adminToken: read('ADMIN_TOKEN', null, parseToken),
    logLevel: read('LOG_LEVEL', 'info', parseLogLevel),
    stripeApiBase: read('STRIPE_API_BASE', null, parseApiBase),
    smtpUrl: read('SMTP_URL', null, (text) => faultOr(smtpUrlFault(text), new Secret(text))),
    emailFrom: read('EMAIL_FROM', null, parseSender),
    temporalTaskQueue: read('TEMPORAL_TASK_QUEUE', 'oncehook', parseTaskQueue),
    devDir: read('ONCEHOOK_DEV_DIR', '.oncehook', good),
    production: env.NODE_ENV === 'production',
    checkpoint: read('ONCEHOOK_CHECKPOINT', null, (text) =>
      env.NODE_ENV === 'production' ? fault('is for crash tests and refused with NODE_ENV=production') : good(text),
    ),
  };

  if (environment.adminToken !== null && environment.adminToken.reveal().length < SHORT_TOKEN) {
    warnings.push(inEnvironment('ADMIN_TOKEN', `has fewer than ${SHORT_TOKEN} characters: use a longer one`));
  }
  if (environment.production && environment.stripeApiBase !== null) {
    warnings.push(inEnvironment('STRIPE_API_BASE', 'is set in production: API keys are sent there, not to Stripe'));
  }
  return { environment, problems, warnings };
}

type Parsed<Value> = { readonly value: Value } | { readonly fault: string };

function good<Value>(value: Value): Parsed<Value> {
  return { value };
}

function fault(text: string): { readonly fault: string } {
  return { fault: text };
}

function faultOr<Value>(text: string | undefined, value: Value): Parsed<Value> {
  return text === undefined ? good(value) : fault(text);
}

/** Reads one variable. An empty one is unset: that is how compose files and shells pass on what they do not have. */
function variableReader(env: Environment, problems: Problem[]) {
  return <Value, Default>(
    variable: string,
    byDefault: Default,
    parse: (text: string) => Parsed<Value>,
  ): Value | Default => {
    const text = Object.hasOwn(env, variable) ? env[variable] : undefined;
    if (text === undefined || text === '') return byDefault;
    const parsed = parse(text);
    if ('value' in parsed) return parsed.value;
    problems.push(inEnvironment(variable, parsed.fault));
    return byDefault;
  };
}

function parsePort(text: string): Parsed<number> {
  const isPort = /^[0-9]{1,5}$/.test(text) && Number(text) <= 65_535;
  return isPort ? good(Number(text)) : fault('must be a port number, 0 to 65535; 0 takes any free one');
}

function parseHost(text: string): Parsed<string> {
  return /^[A-Za-z0-9._:%-]{1,253}$/.test(text) ? good(text) : fault('must be a host name or an IP address');
}

function parseToken(text: string): Parsed<Secret> {
  // What an Authorization header can carry after "Bearer " (RFC 6750, b64token).
  return /^[A-Za-z0-9._~+/-]+=*$/.test(text)
    ? good(new Secret(text))
    : fault('must be of letters, digits and ._~+/- only, with = at its end if any');
}

function parseLogLevel(text: string): Parsed<(typeof LOG_LEVELS)[number]> {
  const level = LOG_LEVELS.find((candidate) => candidate === text);
  return level === undefined ? fault(`must be one of ${LOG_LEVELS.join(', ')}`) : good(level);
}

function parseApiBase(text: string): Parsed<string> {
  const base = apiBase(text);
  return base === undefined ? fault('must be scheme, host and port only, such as http://127.0.0.1:8420') : good(base);
}

function parseSender(text: string) {
  const mailbox = parseMailbox(text);
  return mailbox === undefined
    ? fault('must be one address, such as shop@example.com or "The Shop <shop@example.com>"')
    : good(mailbox);
}

function parseTaskQueue(text: string): Parsed<string> {
  const isLegal = /^[\x21-\x7e]{1,255}$/.test(text) && !text.startsWith('/_sys/');
  return isLegal ? good(text) : fault('must be 1 to 255 printable ASCII characters and not begin with /_sys/');
}
