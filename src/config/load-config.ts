import { resolve } from 'node:path';
import { ConfigError } from '../errors.js';
import type { Config } from './config.js';
import { readConfig, type ConfigInput, type ParseOptions } from './parse-config.js';
import { inDocument, inEnvironment } from './problem.js';
import { readFileOrFault, readTextFile, type ReadFile } from './read-file.js';
import { DATABASE_URL_MISSING } from './role-rules.js';
import type { Environment } from './secret-reference.js';
import { readYaml } from './yaml-document.js';

/** The file that is read when it exists and no other is named. */
const USUAL_FILE = 'oncehook.yaml';

export interface LoadOptions extends ParseOptions {
  /** Where relative paths begin; the process's own by default. */
  readonly cwd?: string;
}

/**
 * Loads the configuration of a process: the file that `ONCEHOOK_CONFIG` names, else `./oncehook.yaml` if it exists,
 * else one Stripe source from `STRIPE_WEBHOOK_SECRET`. Together with the environment it is checked as a whole.
 * @throws ConfigError with every problem at once; none quotes a value.
 */
export function loadConfig(options: LoadOptions = {}): Config {
  const { env = process.env, cwd = process.cwd(), readFile = readTextFile } = options;
  return readConfig(findInput(env, cwd, readFile), { ...options, env, readFile });
}

/**
 * The database's URL, for whoever cannot do without.
 * @throws ConfigError when none is set.
 */
export function requireDatabaseUrl({ environment }: Pick<Config, 'environment'>): string {
  if (environment.databaseUrl === null) throw new ConfigError([`DATABASE_URL: ${DATABASE_URL_MISSING}`]);
  return environment.databaseUrl.reveal();
}

function findInput(env: Environment, cwd: string, readFile: ReadFile): ConfigInput {
  const named = env.ONCEHOOK_CONFIG ?? '';
  const label = named === '' ? USUAL_FILE : named;
  const file = resolve(cwd, label);
  const read = readFileOrFault(file, readFile);
  if (read.kind === 'text') {
    const { document, problems, lineOf } = readYaml(read.text);
    return { document, file, origin: { label, lineOf }, problems, literals: 'refused' };
  }
  if (named === '' && read.kind === 'missing') return WITHOUT_FILE;
  const problem =
    named === '' ? inDocument([], read.fault) : inEnvironment('ONCEHOOK_CONFIG', `the file ${read.fault}`);
  return {
    document: undefined,
    file,
    origin: { label, lineOf: () => undefined },
    problems: [problem],
    literals: 'refused',
  };
}

/** The configuration of whoever has none: one Stripe endpoint, told by two variables. */
const WITHOUT_FILE: ConfigInput = {
  document: {
    version: 1,
    sources: {
      stripe: { kind: 'stripe', secrets: ['${STRIPE_WEBHOOK_SECRET}'], apiKey: '${STRIPE_API_KEY}' },
    },
  },
  file: null,
  origin: { label: `no ${USUAL_FILE}`, lineOf: () => undefined },
  problems: [],
  literals: 'refused',
  listVariable: 'STRIPE_WEBHOOK_SECRET',
};
