/**
 * Connection URLs carry passwords, so no check here ever quotes one. What is refused beyond the scheme are the forms
 * in which a password with an unescaped `/`, `?`, `#` or `@` would be taken for a host, path or parameter: it would
 * connect elsewhere, and its parts would count as safe to print.
 */

const ESCAPED = "a password's special characters must be percent-encoded";

/** What is wrong with a `DATABASE_URL`, else `undefined`. */
export function databaseUrlFault(text: string): string | undefined {
  const url = parse(text, ['postgres:', 'postgresql:']);
  if (url === undefined) return `must look like postgres://user:password@host:5432/database; ${ESCAPED}`;
  if (hasLooseEnds(url)) return `has parts that do not belong to it; ${ESCAPED}`;
  return /^\/[^/]+$/.test(url.pathname) ? undefined : 'must name a database after the host';
}

/** What is wrong with an `SMTP_URL`, else `undefined`; the mail transport checks its parameters. */
export function smtpUrlFault(text: string): string | undefined {
  const url = parse(text, ['smtp:', 'smtps:']);
  if (url === undefined || url.hostname === '') {
    return `must look like smtp://user:password@host:587 or smtps://...; ${ESCAPED}`;
  }
  return hasLooseEnds(url) || !['', '/'].includes(url.pathname)
    ? `has parts that do not belong to it; ${ESCAPED}`
    : undefined;
}

/** Scheme, host and port, as a base for API calls; `undefined` when the text is more or less than that. */
export function apiBase(text: string): string | undefined {
  const url = parse(text, ['http:', 'https:']);
  if (url?.hostname === undefined || url.hostname === '' || url.username !== '' || url.password !== '')
    return undefined;
  return url.pathname === '/' && url.search === '' && url.hash === '' ? url.origin : undefined;
}

/** Host and database, without user, password and parameters. Only for a URL that has no fault. */
export function maskDatabaseUrl(text: string): string {
  const url = new URL(text);
  // A socket folder or another host may stand in a parameter, as libpq has it.
  const host = url.host === '' ? (url.searchParams.get('host') ?? '') : url.host;
  return `postgres://${host}${url.pathname}`;
}

/** Scheme, host and port. Only for a URL that has no fault. */
export function maskSmtpUrl(text: string): string {
  const url = new URL(text);
  return `${url.protocol}//${url.host}`;
}

function parse(text: string, protocols: readonly string[]): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && protocols.includes(url.protocol) ? url : undefined;
}

function hasLooseEnds(url: URL): boolean {
  return url.hash !== '' || /[@\s]/.test(`${url.pathname}${url.search}`);
}
