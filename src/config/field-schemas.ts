import { z } from 'zod';
import { DURATION_FORM, parseDuration } from './duration.js';

/*
 * The small parts that documents are made of. Every message stands after a path and a colon and says what is legal;
 * none quotes what it met.
 */

/** A schema's own sentence for what it met. What is not there at all is said to be missing, as everywhere. */
export function saying(
  text: string,
): (issue: { readonly code?: string; readonly input: unknown }) => string | undefined {
  return ({ code, input }) => (input === undefined || code === 'invalid_key' ? undefined : text);
}

function matching(form: RegExp, sentence: string): z.ZodString {
  return z.string({ error: saying(sentence) }).regex(form, { error: sentence });
}

export const text = z.string({ error: saying('must be a text') });
export const filledText = text.min(1, { error: 'must not be empty' });

/** Milliseconds; `0d` is legal. */
export const anyDuration = matching(
  DURATION_FORM,
  'must be a duration: a whole number and ms, s, m, h or d, such as 300s or 90d',
).transform((written, context) => {
  const ms = parseDuration(written);
  if (ms !== undefined) return ms;
  context.addIssue({ code: 'custom', message: 'must be at most 36500d' });
  return z.NEVER;
});

/** Milliseconds, more than none. */
export const duration = anyDuration.refine((ms) => ms > 0, { error: 'must be longer than 0' });

export const positiveInteger = z
  .int({ error: saying('must be a whole number') })
  .min(1, { error: 'must be at least 1' })
  .max(Number.MAX_SAFE_INTEGER, { error: 'is too large' });

/** Also the form of handler sets' names. */
const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;

export const sourceName = matching(
  NAME,
  'a source name has 1 to 64 of a-z, 0-9, _ and -, and begins with a letter or digit',
);

export const handlerSetName = matching(NAME, 'must be the name of a handler set: 1 to 64 of a-z, 0-9, _ and -');

/** Accounts become part of the scope, whose parts are joined by colons. */
export const account = matching(
  /^[\x21-\x39\x3b-\x7e]{1,200}$/,
  'must be 1 to 200 printable ASCII characters without space and colon',
);

/** `*` stands for every tenant where operations are paused. */
export const tenant = matching(
  /^(?!\*$)[\x21-\x7e]{1,255}$/,
  'must be 1 to 255 printable ASCII characters without space, and not *',
);

export const typePattern = matching(
  /^[\x21-\x7e]{1,255}$/,
  'must be an event type or a pattern such as invoice.*: 1 to 255 printable ASCII characters',
);

export const instant = z.iso
  .datetime({ offset: true, error: saying('must be a time with its zone, such as 2026-01-01T00:00:00Z') })
  .transform((written) => new Date(written));

export const jsonPointer = matching(/^(\/([^~/]|~[01])*)+$/, 'must be a JSON pointer such as /data/id');

export const headerName = matching(
  /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/,
  'must be the name of an HTTP header',
).transform((name) => name.toLowerCase());

export const contentType = matching(
  /^[A-Za-z0-9!#$&^_.+-]+\/[A-Za-z0-9!#$&^_.+-]+(; ?charset=[A-Za-z0-9_-]+)?$/,
  'must be a media type such as text/plain or application/json; charset=utf-8',
);

/** `${NAME}` or `${file:/path}`; what it stands for is read and judged later: that needs more than the document. */
export const reference = z.string({ error: saying('must be a text such as "${NAME}" or "${file:/path}"') });
