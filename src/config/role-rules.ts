import type { EnvironmentConfig } from './config.js';
import { DEFAULTS } from './defaults.js';
import type { Draft } from './draft.js';
import type { Role } from './environment.js';
import { inDocument, inEnvironment, type Findings, type Problem } from './problem.js';
import { handlersOf } from './source-defaults.js';

/**
 * What a role must have before it starts. A tool asks for what it needs itself.
 * @param operations kinds of effects registered in code.
 */
export function checkRole(
  role: Role,
  draft: Draft,
  environment: EnvironmentConfig,
  operations: ReadonlySet<string>,
): Findings {
  switch (role) {
    case 'tool':
      return { problems: [], warnings: [] };
    case 'receiver':
      return { problems: [...listenerProblems(environment), ...portProblems(environment)], warnings: [] };
    case 'worker':
      return {
        problems: [
          ...listenerProblems(environment),
          ...(operations.has('email') ? [] : mailProblems(draft, environment)),
        ],
        warnings: apiKeyWarnings(draft),
      };
  }
}

/** Said of a missing DATABASE_URL, also by commands that need one. */
export const DATABASE_URL_MISSING = 'is not set; it must look like postgres://user:password@host:5432/database';

function listenerProblems({ databaseUrl, adminHost, adminToken }: EnvironmentConfig): Problem[] {
  const problems: Problem[] = [];
  if (databaseUrl === null) problems.push(inEnvironment('DATABASE_URL', DATABASE_URL_MISSING));
  if (adminToken === null && !isLoopback(adminHost)) {
    problems.push(inEnvironment('ADMIN_TOKEN', 'must be set when ADMIN_HOST is not a loopback address'));
  }
  return problems;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

function portProblems({ port, adminPort }: EnvironmentConfig): Problem[] {
  if (port === 0 || port !== adminPort) return [];
  return [inEnvironment('ADMIN_PORT', 'must be another port than PORT')];
}

/** A paid order without its mail would be noticed by a customer, days later. So it is noticed here. */
function mailProblems({ sources, email, effects }: Draft, { smtpUrl, emailFrom }: EnvironmentConfig): Problem[] {
  const usesOrders = sources.some((source) => handlersOf(source) === 'orders');
  if (!usesOrders || effects.email?.mode === 'off' || !sendsMail(email)) return [];
  const text =
    'is not set, and a source uses the orders set; set it, or switch the mail off with effects: { email: { mode: off } }';
  return [
    ...(smtpUrl === null ? [inEnvironment('SMTP_URL', text)] : []),
    ...(emailFrom === null ? [inEnvironment('EMAIL_FROM', text)] : []),
  ];
}

/** A mail to the merchant needs the merchant's address; the others have their address in the order. */
function sendsMail({ orderPaid, refundSucceeded, refundFailed, merchant }: Draft['email']): boolean {
  const isOn = (policy: string | undefined, byDefault: string): boolean => (policy ?? byDefault) !== 'off';
  return (
    isOn(orderPaid, DEFAULTS.email.orderPaid) ||
    isOn(refundSucceeded, DEFAULTS.email.refundSucceeded) ||
    (merchant !== undefined && isOn(refundFailed, DEFAULTS.email.refundFailed))
  );
}

function apiKeyWarnings({ sources }: Draft): Problem[] {
  return sources
    .filter((source) => source.kind === 'stripe' && source.apiKey === undefined && handlersOf(source) !== 'none')
    .map(({ name }) => inDocument(['sources', name, 'apiKey'], NO_API_KEY));
}

/** Also said where the key's variable is not set. */
export const NO_API_KEY = "without an API key Stripe's own state cannot be fetched, and refunds stay planned";
