import { readFileSync } from 'node:fs';

/** Reads a whole text file. @throws an Error with a `code` such as `ENOENT` */
export type ReadFile = (path: string) => string;

/** Reads a file as strict UTF-8, since other bytes would silently become another secret. */
export function readTextFile(path: string): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
}

export type FileRead =
  | { readonly kind: 'text'; readonly text: string }
  /** `fault` stands after the file's name. */
  | { readonly kind: 'missing' | 'unreadable'; readonly fault: string };

/** Reads a file, or says in our own words why not. */
export function readFileOrFault(path: string, readFile: ReadFile): FileRead {
  try {
    return { kind: 'text', text: readFile(path) };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    return { kind: code === 'ENOENT' ? 'missing' : 'unreadable', fault: describe(code) };
  }
}

function describe(code: unknown): string {
  switch (code) {
    case 'ENOENT':
      return 'does not exist';
    case 'EACCES':
    case 'EPERM':
      return 'may not be read by this user';
    case 'EISDIR':
      return 'is a folder';
    case 'ERR_ENCODING_INVALID_ENCODED_DATA':
      return 'is not UTF-8';
    default:
      return 'cannot be read';
  }
}
