import type { Mailbox } from './config.js';

/**
 * Dot-atoms of RFC 5322 in ASCII, without the characters by which some mail servers route or run things, at a host name
 * with a dot. Quoted local parts and address literals are left out: parsers disagree about them.
 */
const ADDRESS =
  /^(?=.{1,64}@)[A-Za-z0-9#$&'*+/=?^_`{}~-]+(\.[A-Za-z0-9#$&'*+/=?^_`{}~-]+)*@(?=.{1,253}$)([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]([A-Za-z0-9-]{0,61}[A-Za-z0-9])$/;

/** A display name: anything that cannot end its quotes, begin an address or break the header's line. */
const NAME = /^[^"<>\\\p{Cc}\p{Cf}\p{Zl}\p{Zp}]{1,200}$/u;

export function isAddress(text: string): boolean {
  return ADDRESS.test(text);
}

/** Reads `shop@example.com` or `The Shop <shop@example.com>`, one address only; `undefined` for anything else. */
export function parseMailbox(text: string): Mailbox | undefined {
  if (isAddress(text)) return { address: text, name: null };
  const [, quoted, plain, address = ''] = /^(?:"([^"]*)"|([^"<>]*?)) *<([^<> ]*)>$/.exec(text) ?? [];
  const name = quoted ?? plain ?? '';
  // Before the trim, which would take a line break away with the spaces.
  if (!NAME.test(name) || name.trim() === '' || !isAddress(address)) return undefined;
  return { address, name: name.trim() };
}
