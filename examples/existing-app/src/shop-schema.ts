import { readFileSync } from 'node:fs';

/** The one migration that this shop has. */
export function shopSchema(): string {
  return readFileSync('migrations/0001_shop.sql', 'utf8');
}
