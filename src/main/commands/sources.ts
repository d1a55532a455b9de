import type { Command } from 'commander';
import { findSecretEvidence, type SecretEvidence } from '../../admin/secret-evidence.js';
import type { Config, SourceConfig } from '../../config/config.js';
import { loadConfig } from '../../config/index.js';
import { alignColumns } from '../align-columns.js';
import { openPool } from '../open-tool.js';
import { printDocument } from '../print-document.js';
import { localUrl } from '../webhook-url.js';

/** A configured source as an operator looks at it; secrets by position and never by value. */
interface SourceListing {
  readonly name: string;
  readonly kind: string;
  readonly url: string;
  readonly scopes: readonly string[];
  readonly tenant: string;
  readonly handlers: string;
  readonly ignore: readonly string[];
  readonly maxBodyBytes: number;
  readonly toleranceMs: number | null;
  readonly rateLimit: { readonly perSecond: number; readonly burst: number } | null;
  readonly secrets: readonly SecretListing[];
}

interface SecretListing {
  readonly position: number;
  /** When an accepted delivery was last signed with it; `null` when none was, or nobody could be asked. */
  readonly lastMatchedAt: Date | null;
}

/** `oncehook sources`: what is configured, and which secrets are in use. */
export function addSourcesCommand(program: Command): void {
  program
    .command('sources')
    .description('list the configured sources: URL, scope, limits, and when each secret last matched')
    .option('--json', 'print one JSON document')
    .action(async (options: { readonly json?: boolean }) => {
      const config = loadConfig({ env: process.env, cwd: process.cwd(), role: 'tool' });
      const evidence = await readEvidence(config);
      const sources = [...config.sources.values()].map((source) => list(source, config, evidence ?? []));
      if (options.json === true) printDocument({ sources, evidence: evidence === null ? 'unknown' : 'read' });
      else for (const source of sources) print(source, evidence !== null);
    });
}

/** `null` when the database cannot be asked: the configuration is worth showing all the same. */
async function readEvidence(config: Config): Promise<readonly SecretEvidence[] | null> {
  if (config.environment.databaseUrl === null) return null;
  const pool = openPool(config);
  try {
    const secrets = [...config.sources.values()].flatMap((source) =>
      positionsOf(source).map((position) => ({ source: source.name, position })),
    );
    return await findSecretEvidence(pool, secrets);
  } catch (error) {
    const says = error instanceof Error ? error.message : String(error);
    process.stderr.write(`oncehook: the database cannot be asked when secrets matched (${says})\n`);
    return null;
  } finally {
    await pool.end();
  }
}

function list(source: SourceConfig, { environment }: Config, evidence: readonly SecretEvidence[]): SourceListing {
  return {
    name: source.name,
    kind: source.kind,
    url: localUrl(environment, source.name),
    scopes: scopesOf(source),
    tenant: source.tenant,
    handlers: source.handlers,
    ignore: source.ignore,
    maxBodyBytes: source.maxBodyBytes,
    toleranceMs: source.kind === 'github' ? null : source.toleranceMs,
    rateLimit: source.kind === 'github' ? null : source.rateLimit,
    secrets: positionsOf(source).map((position) => ({
      position,
      lastMatchedAt:
        evidence.find((found) => found.source === source.name && found.position === position)?.lastMatchedAt ?? null,
    })),
  };
}

/** From 0. A variable may hold several secrets; a command may be run where none of them is set. */
function positionsOf({ secrets, secretReferences }: SourceConfig): number[] {
  return [...Array(Math.max(secrets.current().length, secretReferences.length)).keys()];
}

/** Every scope that the source may store live events in. */
function scopesOf(source: SourceConfig): string[] {
  if (source.kind !== 'stripe') return [`${source.kind}:${source.account}`];
  const modes = source.mode === 'any' ? ['live', 'test'] : [source.mode];
  return [source.account, ...source.accounts.keys()].flatMap((account) =>
    modes.map((mode) => `stripe:${account}:${mode}`),
  );
}

function print(source: SourceListing, known: boolean): void {
  const { name, kind, url, scopes, tenant, handlers, ignore, maxBodyBytes, toleranceMs, rateLimit, secrets } = source;
  const rows = [
    ['kind', kind],
    ['url', url],
    ['scope', scopes.join(', ')],
    ['tenant', tenant],
    ['handlers', handlers],
    ...(ignore.length === 0 ? [] : [['ignored types', ignore.join(', ')]]),
    ['body cap', `${maxBodyBytes} bytes`],
    ['tolerance', toleranceMs === null ? 'no time is signed' : `${toleranceMs / 1000} s`],
    ['rate limit', rateLimit === null ? 'none' : `${rateLimit.perSecond} per second, ${rateLimit.burst} at once`],
    ...secrets.map(({ position, lastMatchedAt }) => [
      `secret ${position}`,
      lastMatchedAt === null ? (known ? 'never matched' : 'unknown') : `last matched ${lastMatchedAt.toISOString()}`,
    ]),
  ];
  process.stdout.write(
    `${name}\n${alignColumns(rows)
      .map((line) => `  ${line}\n`)
      .join('')}`,
  );
}
