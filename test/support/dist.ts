import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The project's root. */
export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** A compiled file, for tests that need a process of their own; `npm test` builds before it runs them. */
export function compiled(path: string, root = ROOT): string {
  const file = join(root, 'dist', path);
  if (!existsSync(file)) throw new Error(`${file} is missing: run "npm run build" first`);
  return file;
}
