import type { Client } from '@temporalio/client';
import type { AnyOperationDefinition } from '../api/index.js';
import type { Config } from '../config/index.js';
import { loadMailTemplates } from '../providers/email-templates/load-templates.js';
import { emailOperation } from '../providers/email.js';
import { httpOperation, type HttpTarget } from '../providers/http-operation.js';
import { signalWorkflowOperation } from '../providers/signal-workflow.js';
import { createSmtpTransport } from '../providers/smtp-transport.js';
import { startWorkflowOperation } from '../providers/start-workflow.js';
import { createStripeAccess } from '../providers/stripe-access.js';
import { stripeCancelOperation } from '../providers/stripe-cancel.js';
import { stripeRefundOperation } from '../providers/stripe-refund.js';
import { stripeAccesses } from './worker-sources.js';

/** All kinds of a worker: an application's own, and the built-in ones whose names they leave free. */
export function operationKinds(
  config: Config,
  client: Client,
  own: readonly AnyOperationDefinition[],
): readonly AnyOperationDefinition[] {
  const taken = new Set(own.map(({ kind }) => kind));
  return [...builtInOperations(config, client).filter(({ kind }) => !taken.has(kind)), ...own];
}

/** The kinds of effects that come with oncehook, as the configuration sets them up. */
function builtInOperations(config: Config, client: Client): readonly AnyOperationDefinition[] {
  const connect = createStripeAccess({
    sources: stripeAccesses(config),
    apiBase: config.environment.stripeApiBase,
  });
  return [
    stripeRefundOperation(connect),
    stripeCancelOperation(connect),
    ...mailKinds(config),
    httpOperation({ targets: httpTargets(config) }),
    startWorkflowOperation({ client }),
    signalWorkflowOperation({ client }),
  ];
}

/** Under the names that the built-in handler sets use. */
function httpTargets({ calendar }: Config): Readonly<Record<string, HttpTarget>> {
  const url = calendar?.url ?? null;
  return url === null ? {} : { calendar: { url: () => url.reveal() } };
}

function mailKinds(config: Config): readonly AnyOperationDefinition[] {
  const { smtpUrl, emailFrom } = config.environment;
  // Where mail is on, the configuration has demanded both for a worker.
  if (smtpUrl === null || emailFrom === null) return [];
  return [
    emailOperation({
      transport: createSmtpTransport(smtpUrl.reveal()),
      from: emailFrom.name === null ? emailFrom.address : `${emailFrom.name} <${emailFrom.address}>`,
      policies: {
        orderPaid: config.email.orderPaid,
        refundSucceeded: config.email.refundSucceeded,
        refundFailed: config.email.refundFailed,
      },
      ...(config.email.templates === null ? {} : { templates: loadMailTemplates(config.email.templates) }),
      giveUpAfterMs: config.email.giveUpAfterMs,
    }),
  ];
}
