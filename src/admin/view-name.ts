import { CommandError } from '../errors.js';

/** A view as the user named it. */
export interface ViewName {
  readonly schema: string;
  readonly name: string;
  /** Safe to stand in a statement. */
  readonly quoted: string;
}

/** PostgreSQL cuts longer names; what is cut would name something else. */
const PART = /^[A-Za-z_][A-Za-z0-9_$]{0,62}$/;

/**
 * Reads `schema.view`. Names are taken as they are written, also their case.
 * @throws CommandError `usage` for anything else.
 */
export function parseViewName(text: string): ViewName {
  const [schema, name, ...rest] = text.split('.');
  if (schema === undefined || name === undefined || rest.length > 0 || !PART.test(schema) || !PART.test(name)) {
    throw new CommandError(
      'usage',
      `--view takes schema.view, such as public.webhook_outcomes: letters, digits, _ and $, without quotes; not ${JSON.stringify(text)}`,
    );
  }
  return { schema, name, quoted: `"${schema}"."${name}"` };
}
