import { createHash } from 'node:crypto';

/** Hex SHA-256 of a text's UTF-8 bytes; handed to pure code, which has no crypto of its own. */
export function sha256Hex(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}
