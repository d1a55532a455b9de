/** RFC 5321's limits, in bytes; all of these addresses are ASCII. */
const MAX_LOCAL = 64;
const MAX_DOMAIN = 253;

/**
 * Dot-atoms of RFC 5322 without `!`, `%` and `|`, by which some servers still route or run things. No quoted local
 * parts either: parsers disagree about them, and what one reads as a name another reads as an address.
 */
const LOCAL = /^[A-Za-z0-9#$&'*+/=?^_`{}~-]+(?:\.[A-Za-z0-9#$&'*+/=?^_`{}~-]+)*$/;

/** Host names with at least one dot and a last label that is no number; no address literals. */
const DOMAIN = /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+(?=[A-Za-z])[A-Za-z0-9-]{1,62}[A-Za-z0-9]$/;

/** Whether the text is exactly one plain address and nothing else: no name, no list, no group, no comment, no spaces. */
export function isPlainAddress(text: string): boolean {
  const at = text.lastIndexOf('@');
  const local = text.slice(0, Math.max(at, 0));
  const domain = text.slice(at + 1);
  return local.length <= MAX_LOCAL && domain.length <= MAX_DOMAIN && LOCAL.test(local) && DOMAIN.test(domain);
}

/** A sender: an address and the name that readers see. */
export interface Mailbox {
  readonly name: string;
  readonly address: string;
}

/**
 * Reads `shop@example.com` or `The Shop <shop@example.com>`.
 * @throws TypeError for anything else; the text is the operator's own, so it is quoted.
 */
export function parseMailbox(text: string): Mailbox {
  const match = /^(?:"?([^"<>\p{Cc}\p{Cf}]*?)"?\s*<([^<>]*)>|([^<>]*))$/u.exec(text.trim());
  const address = match?.[2] ?? match?.[3] ?? '';
  if (!isPlainAddress(address)) {
    throw new TypeError(`A sender is one plain address or "Name <address>", not ${JSON.stringify(text)}`);
  }
  return { name: match?.[1] ?? '', address };
}
