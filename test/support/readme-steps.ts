import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './dist.js';

/** One block of a page that a reader follows. */
export type ReadmeStep =
  | { readonly kind: 'file'; readonly name: string; readonly text: string }
  | { readonly kind: 'shell'; readonly text: string }
  /** In a terminal of its own, which goes on running; a reader goes on when it has said `until`. */
  | { readonly kind: 'terminal'; readonly text: string; readonly until: string };

const BLOCK = /(?:<!-- terminal \d+, until "([^"]+)" -->\n)?```(\w+)\n([\s\S]*?)```/g;
const FILE_NAME = /^\/\/ ([\w.-]+)\n/;

/** The code blocks of one section of README.md, in order: what is told to be a file, and what is told to be typed. */
export function readmeSteps(heading: string): readonly ReadmeStep[] {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const [, section] = new RegExp(`^## ${heading}\\n([\\s\\S]*?)(?=^## )`, 'm').exec(readme) ?? [];
  if (section === undefined) throw new Error(`README.md has no section "${heading}"`);
  return [...section.matchAll(BLOCK)].map(([, until, language, text = '']) => {
    if (language === 'sh') return until === undefined ? { kind: 'shell', text } : { kind: 'terminal', text, until };
    const name = FILE_NAME.exec(text)?.[1];
    if (name === undefined) throw new Error(`this block of README.md names no file: ${text.slice(0, 60)}`);
    return { kind: 'file', name, text };
  });
}
