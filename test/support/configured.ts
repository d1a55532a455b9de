import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Config, SourceConfig } from '../../src/config/config.js';
import { GOOD_ENV, loadText } from './config-input.js';

const EXAMPLES = new URL('../fixtures/senders/', import.meta.url);

/** What stands under `sources` in a configuration file. */
export type SourceDocuments = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Names of the senders that docs/senders.md has a block for. */
export function exampleNames(): readonly string[] {
  return readdirSync(EXAMPLES).map((file) => file.replace(/\.yaml$/, ''));
}

/** The block of docs/senders.md, to the character. */
export function exampleText(name: string): string {
  return readFileSync(new URL(`${name}.yaml`, EXAMPLES), 'utf8');
}

/** The sources of these blocks together; each is one of its own. */
export function exampleSources(...names: readonly string[]): SourceDocuments {
  // Our own files, so their shape is known; the configuration's checks come after.
  const read = (name: string): SourceDocuments =>
    (parse(exampleText(name)) as { readonly sources: SourceDocuments }).sources;
  return Object.assign({}, ...names.map(read)) as SourceDocuments;
}

/**
 * Reads sources as a receiver reads its file: every rule holds, and secrets come from `env`.
 * @param handlerSets names of a user's own sets
 * @throws ConfigError as a start would.
 */
export function configure(
  sources: SourceDocuments,
  env: Readonly<Record<string, string>>,
  handlerSets: ReadonlySet<string> = new Set(),
): Config {
  // JSON is YAML.
  return loadText(JSON.stringify({ version: 1, sources }), { env: { ...GOOD_ENV, ...env }, handlerSets });
}

export function sourceOf(config: Config, name: string): SourceConfig {
  const source = config.sources.get(name);
  if (source === undefined) throw new Error(`no source ${name}`);
  return source;
}
