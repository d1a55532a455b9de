import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config/index.js';
import { packageRoot } from '../../src/package-root.js';

const require = createRequire(import.meta.url);

/** No engine runs it here, so what can be known of it without one is. */
const text = readFromRoot('docker-compose.yml');
const compose = parse(text, { merge: true }) as ComposeFile;
const services = Object.entries(compose.services);
const dotenv = new Map(
  [...readFromRoot('.env.example').matchAll(/^([A-Z_]+)="?([^"\n]*)"?$/gm)].map(([, name = '', value = '']) => [
    name,
    value,
  ]),
);
const own = services.filter(([, { image }]) => image.startsWith('oncehook:'));

interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

interface ComposeService {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

describe('docker-compose.yml', () => {
  it('is valid by the schema of the compose specification', () => {
    const validate = new Ajv({ strict: false, allErrors: true }).compile(composeSchema());
    validate(compose);
    expect(validate.errors ?? []).toEqual([]);
  });

  it('is checked by a schema that refuses a misspelled key and an unknown condition', () => {
    const validate = new Ajv({ strict: false }).compile(composeSchema());
    expect(validate({ services: { a: { image: 'a', depend_on: ['b'] } } })).toBe(false);
    expect(validate({ services: { a: { image: 'a', depends_on: { b: { condition: 'service_ready' } } } } })).toBe(
      false,
    );
  });

  it.each(services)('pins the image of %s to an exact version', (_name, { image }) => {
    expect(image).toMatch(/^[a-z/-]+:v?\d+\.\d+(\.\d+)?(-bookworm)?$/);
  });

  it.each(services)('gives %s no secret that is written in the file', (_name, { environment = {} }) => {
    const secrets = Object.entries(environment).filter(([name]) => /PASSWORD|PWD|SECRET|TOKEN|KEY|_URL$/.test(name));
    for (const [name, value] of secrets) {
      const withoutVariables = value.replaceAll(/\$\{[^}]+\}/g, '');
      expect(`${name}=${withoutVariables}`).not.toMatch(/=.*(:[^/@]+@|whsec_|sk_)/);
      if (!name.endsWith('_URL')) expect(`${name}=${withoutVariables}`).toBe(`${name}=`);
    }
  });

  it('takes only variables that .env.example has', () => {
    const known = new Set(dotenv.keys());
    const used = new Set([...text.matchAll(/\$\{([A-Z_]+)[:}?-]/g)].map(([, name = '']) => name));
    expect([...used].filter((name) => !known.has(name))).toEqual([]);
    expect([...known].filter((name) => !used.has(name))).toEqual([]);
  });

  it.each(services)('mounts into %s only files that exist and volumes that are declared', (_name, { volumes = [] }) => {
    for (const [source = ''] of volumes.map((volume) => volume.split(':'))) {
      if (source.startsWith('.')) expect(existsSync(join(packageRoot(), source)), source).toBe(true);
      else expect(Object.keys(compose.volumes)).toContain(source);
    }
  });

  it.each(services)('publishes the ports of %s on loopback only', (_name, { ports = [] }) => {
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
  });

  it.each(services)('lets %s wait only for services that exist', (_name, { depends_on = {} }) => {
    for (const name of Object.keys(depends_on)) expect(Object.keys(compose.services)).toContain(name);
  });

  it('runs the three roles from the image of the Dockerfile, in this version', () => {
    const { version } = JSON.parse(readFromRoot('package.json')) as { readonly version: string };
    expect(own.map(([name]) => name)).toEqual(['migrate', 'receiver', 'worker']);
    for (const [name, { image, command }] of own) {
      expect(image).toBe(`oncehook:${version}`);
      expect(command).toEqual([name]);
    }
  });

  it.each(['receiver', 'worker'] as const)('gives the %s an environment that it accepts', (role) => {
    const { environment = {} } = compose.services[role] ?? {};
    const env = { NODE_ENV: 'production', ...mapValues(environment, interpolated) };
    const config = loadConfig({ env, role, cwd: join(packageRoot(), 'deploy') });
    expect([...config.sources.keys()]).toEqual(['stripe']);
    expect(config.warnings.filter((warning) => !warning.includes('STRIPE_API_KEY'))).toEqual([]);
    const ports = compose.services[role]?.ports?.map((port) => Number(port.split(':').at(-1))) ?? [];
    const { port, adminPort } = config.environment;
    expect(ports).toEqual(role === 'receiver' ? [port, adminPort] : [adminPort]);
  });

  it('lets receiver and worker start after the migrations, and the receiver without Temporal', () => {
    const { receiver, worker } = compose.services;
    const afterMigrations = { migrate: { condition: 'service_completed_successfully' } };
    expect(receiver?.depends_on).toEqual(afterMigrations);
    expect(worker?.depends_on).toMatchObject(afterMigrations);
  });
});

describe('Dockerfile', () => {
  const dockerfile = readFromRoot('Dockerfile');

  it('copies only what .dockerignore lets through', () => {
    const allowed = [...readFromRoot('.dockerignore').matchAll(/^!(.+)$/gm)].map(([, name]) => name);
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+)$/gm)].flatMap(([, args = '']) =>
      args.split(' ').slice(0, -1),
    );
    expect(copied.filter((path) => !allowed.includes(path))).toEqual([]);
    for (const path of copied) expect(existsSync(join(packageRoot(), path)), path).toBe(true);
  });

  it('pins its base image by digest and runs as another user than root', () => {
    expect(dockerfile).toMatch(/node:24\.\d+\.\d+-bookworm-slim@sha256:[0-9a-f]{64}\n/);
    expect(dockerfile).toMatch(/^USER node$/m);
  });
});

/** The specification's own schema, as a linter for compose files ships it. */
function composeSchema(): object {
  const folder = dirname(require.resolve('dclint/package.json'));
  const schema = JSON.parse(readFileSync(join(folder, 'schemas', 'compose.schema.json'), 'utf8')) as object;
  // Its `$schema` is not spelled as draft 7 names itself, and draft 7 is what ajv takes it for without.
  return { ...schema, $schema: undefined };
}

/** As compose replaces variables, from the example's values. */
function interpolated(value: string): string {
  return value.replaceAll(/\$\{([A-Z_]+)[^}]*\}/g, (_all, name: string) => dotenv.get(name) ?? '');
}

function mapValues(
  record: Readonly<Record<string, string>>,
  change: (value: string) => string,
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}

function readFromRoot(path: string): string {
  return readFileSync(join(packageRoot(), path), 'utf8');
}
