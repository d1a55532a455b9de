import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { configure, exampleNames, exampleText, type SourceDocuments } from '../support/configured.js';
import { ROOT } from '../support/dist.js';
import { SENDER_ENV } from '../support/senders.js';

/** The configuration blocks of a page, to the character. */
function blocksOf(page: string): readonly string[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return [...text.matchAll(/^```yaml\n([^]*?)^```$/gm)].map(([, block = '']) => block);
}

/** A value for every variable that a block names. */
function envOf(block: string): Record<string, string> {
  const variables = [...block.matchAll(/\$\{([A-Z0-9_]+)\}/g)].map(([, name = '']) => name);
  const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
  return Object.fromEntries(variables.map((name) => [name, SENDER_ENV[name] ?? secret]));
}

describe('docs/senders.md', () => {
  const blocks = blocksOf('docs/senders.md');

  it.each(exampleNames())('shows for %s what is tested', (name) => {
    expect(blocks).toContain(exampleText(name));
  });

  it('shows no configuration that is not tested', () => {
    expect(blocks.filter((block) => !exampleNames().map(exampleText).includes(block))).toEqual([]);
  });
});

describe.each(['README.md', 'docs/senders.md'])('every block of sources in %s', (page) => {
  const blocks = blocksOf(page).filter((block) => block.startsWith('sources:'));

  it.each(blocks.map((block) => [/^ {2}(\S+):/m.exec(block)?.[1], block]))('%s may be started with', (_name, block) => {
    const { sources } = parse(block) as { readonly sources: SourceDocuments };
    expect(configure(sources, envOf(block)).warnings).toEqual([]);
  });

  it('are some', () => {
    expect(blocks.length).toBeGreaterThan(3);
  });
});
