import { ConfigError } from '../errors.js';

/** Where and how to hand mail over. */
export interface SmtpSettings {
  readonly host: string;
  readonly port: number;
  /** `implicit`: TLS from the first byte. `required`: STARTTLS or nothing. `offered`: STARTTLS if the server has it. */
  readonly tls: 'implicit' | 'required' | 'offered';
  readonly rejectUnauthorized: boolean;
  /** Name to check the certificate against, where it is not the host's. */
  readonly servername: string | undefined;
  /** Name given in EHLO; the machine's by default. */
  readonly name: string | undefined;
  readonly auth: { readonly user: string; readonly pass: string } | undefined;
}

const PARAMETERS = ['requireTLS', 'tls.rejectUnauthorized', 'tls.servername', 'name'];

/**
 * Reads `smtp://user:password@host:587?requireTLS=true` or `smtps://...`. Credentials over `smtp:` require TLS unless
 * the URL says `requireTLS=false`: a password must not go out in clear because a server forgot to offer STARTTLS.
 * @throws ConfigError with every problem found, never quoting the URL: an unknown parameter is one, since a misspelled
 * `requireTLS` would send in clear.
 */
export function parseSmtpUrl(text: string): SmtpSettings {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'smtp:' && url.protocol !== 'smtps:') || url.hostname === '') {
    throw new ConfigError(['SMTP_URL must look like smtp://user:password@host:port or smtps://...']);
  }
  const { searchParams: parameters } = url;
  const problems = problemsOf(url);
  if (problems.length > 0) throw new ConfigError(problems);

  const implicit = url.protocol === 'smtps:';
  const auth = credentials(url);
  const required = parameters.get('requireTLS') ?? String(auth !== undefined);
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? (implicit ? 465 : 587) : Number(url.port),
    tls: implicit ? 'implicit' : required === 'true' ? 'required' : 'offered',
    rejectUnauthorized: parameters.get('tls.rejectUnauthorized') !== 'false',
    servername: parameters.get('tls.servername') ?? undefined,
    name: parameters.get('name') ?? undefined,
    auth,
  };
}

function problemsOf(url: URL): readonly string[] {
  const problems: string[] = [];
  for (const [name, value] of url.searchParams) {
    if (!PARAMETERS.includes(name)) {
      problems.push(`SMTP_URL has an unknown parameter; known are ${PARAMETERS.join(', ')}`);
    } else if (/TLS$|Unauthorized$/.test(name) && value !== 'true' && value !== 'false') {
      problems.push(`SMTP_URL: ${name} is true or false`);
    } else if (/[^\x21-\x7e]/.test(value) || value === '') {
      problems.push(`SMTP_URL: ${name} has an empty value or an unprintable character`);
    }
  }
  if (url.protocol === 'smtps:' && url.searchParams.get('requireTLS') === 'false') {
    problems.push('SMTP_URL: smtps and requireTLS=false contradict each other');
  }
  if (/^\/./.test(url.pathname) || url.hash !== '') problems.push('SMTP_URL has a path or a fragment');
  if ((url.username === '') !== (url.password === ''))
    problems.push('SMTP_URL has a user or a password without the other');
  if (credentialsMalformed(url)) problems.push('SMTP_URL: % in a user or password is written %25');
  return problems;
}

function credentials(url: URL): SmtpSettings['auth'] {
  if (url.username === '') return undefined;
  return { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) };
}

function credentialsMalformed(url: URL): boolean {
  try {
    credentials(url);
    return false;
  } catch {
    return true;
  }
}
