import { z } from 'zod';

/** Without NUL, and without half of a character. */
export const STORABLE = /^[^\0\p{Surrogate}]*$/u;

/** Text that PostgreSQL keeps as it is: NUL is refused there, and half a character would become another one. */
export const storableText = z.string().regex(STORABLE);

const MAX_IDENTIFIER_BYTES = 255;

/** A sender's name for something, 1 to 255 bytes: longer ones would not fit into an operation's key once escaped. */
export const identifier = storableText.refine((text) => {
  const bytes = new TextEncoder().encode(text).length;
  return bytes >= 1 && bytes <= MAX_IDENTIFIER_BYTES;
});
