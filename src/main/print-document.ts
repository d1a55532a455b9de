import { alignColumns } from './align-columns.js';

/** One JSON document on stdout; logs go elsewhere. */
export function printDocument(document: unknown): void {
  process.stdout.write(`${JSON.stringify(document, null, 2)}\n`);
}

/** Rows of cells as aligned lines. */
export function printColumns(rows: readonly (readonly string[])[]): void {
  for (const line of alignColumns(rows)) process.stdout.write(`${line}\n`);
}

/** What a command did, as one line or one JSON document. */
export function report(options: { readonly json?: boolean }, facts: Readonly<Record<string, unknown>>): void {
  if (options.json === true) printDocument(facts);
  else
    process.stdout.write(
      `${Object.entries(facts)
        .map(([name, value]) => `${name}: ${String(value)}`)
        .join('  ')}\n`,
    );
}
