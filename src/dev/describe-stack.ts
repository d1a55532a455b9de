import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { alignColumns } from '../main/align-columns.js';
import { formatMinor } from '../domain/money.js';
import type { DemoResult } from './demo.js';
import type { OrderStory } from './demo-orders.js';
import { webhookSecretFile } from './dev-dir.js';
import type { DevSettings } from './dev-settings.js';
import type { Servers, Stack } from './stack.js';
import type { TemporalAccess } from './provide-temporal.js';

/** The demonstration's table: one line per scenario, the workflow's link last, where wrapping does no harm. */
export function demoTable(results: readonly DemoResult[], temporal: TemporalAccess): string[] {
  const head = ['EVENT', 'ANSWER', 'INBOX', 'ORDER', 'EFFECTS', 'WORKFLOW'];
  return alignColumns([head, ...results.map((result) => demoRow(result, temporal))]);
}

function demoRow(
  { scenario, answers, event, orderStatus, workflowId }: DemoResult,
  temporal: TemporalAccess,
): string[] {
  const effects = event.operations.map(
    ({ operationKey, status }) => `${operationKey.split(':', 2).join(':')} ${status}`,
  );
  return [
    scenario.title,
    answers,
    [event.status, event.outcome, event.reason].filter((part) => part !== null).join('/'),
    orderStatus ?? '-',
    effects.length === 0 ? '-' : effects.join(', '),
    workflowLink(workflowId, temporal),
  ];
}

/** The second table: one line per order. */
export function orderTable(stories: readonly OrderStory[]): string[] {
  const head = ['ORDER', 'STATUS', 'CAPTURED', 'REFUNDED', 'NOTICE', 'EFFECTS'];
  return alignColumns([head, ...stories.map(orderRow)]);
}

function orderRow({ title, status, capturedMinor, refundedMinor, notice, operations }: OrderStory): string[] {
  const effects = operations.map(({ kind, key, status: stands }) => `${shortName(kind, key)} ${stands}`);
  return [
    title,
    status,
    formatMinor(capturedMinor, 'usd'),
    formatMinor(refundedMinor, 'usd'),
    notice ?? '-',
    effects.join(', '),
  ];
}

/** What an effect is for, without whom: `refund:late`; some kinds are for one thing only. */
function shortName(kind: string, key: string): string {
  return kind === 'cancel_payment_intent' ? kind : key.split(':', 2).join(':');
}

/** What to do about the refund that still waits, if one does. */
export function approvalHint(stories: readonly OrderStory[], databaseUrl: string): string[] {
  const waiting = stories.flatMap(({ operations }) => operations).find(({ status }) => status === 'proposed');
  if (waiting === undefined) return [];
  return [
    'One refund still waits for you. Let it go:',
    `  DATABASE_URL='${databaseUrl}' npx oncehook operations approve '${waiting.key}' --by me --reason 'seen in the demonstration'`,
  ];
}

/** Where everything is, and the lines that people ask for next. */
export function stackGuide(
  stack: Stack,
  { env, ports }: Pick<DevSettings, 'env' | 'ports'>,
  dir: string,
  replayId?: string,
): string[] {
  const { receiverUrl, temporal, databaseUrl, mailDir } = stack;
  const webhookUrl = `${receiverUrl}/webhooks/stripe`;
  return alignColumns([
    ['webhooks', webhookUrl],
    ['ready', `${receiverUrl}/readyz`],
    [
      'metrics',
      `http://127.0.0.1:${ports.receiverAdmin}/metrics (receiver), http://127.0.0.1:${ports.workerAdmin}/metrics (worker)`,
    ],
    ['Temporal UI', temporal.uiUrl ?? `that of the server at ${temporal.address}, namespace ${temporal.namespace}`],
    ['database', databaseUrl],
    ['mail', `${relative('', mailDir)}/*.eml`],
    ['logs', `${relative('', dir)}/receiver.log, ${relative('', dir)}/worker.log`],
    ['send', `${sendCommand(env, dir)} stripe FILE.json --url ${webhookUrl}`],
    ['from Stripe', `stripe listen --forward-to ${webhookUrl}`],
    ['', 'then start with STRIPE_WEBHOOK_SECRET set to the secret that it prints'],
    ['replay', replayCommand(temporal, replayId ?? 'WORKFLOW_ID')],
  ]);
}

/** With the stack's own secret where that is the one in force; it is read from its file, not shown. */
function sendCommand(env: NodeJS.ProcessEnv, dir: string): string {
  const file = webhookSecretFile(dir);
  const isKept = existsSync(file) && env.STRIPE_WEBHOOK_SECRET === readFileSync(file, 'utf8');
  return `${isKept ? `STRIPE_WEBHOOK_SECRET="$(cat ${relative('', file)})" ` : ''}npx oncehook send`;
}

/** A workflow's page; its IDs are of an alphabet that needs no escaping in a path. */
function workflowLink(workflowId: string, { uiUrl, namespace }: TemporalAccess): string {
  return uiUrl === undefined ? workflowId : `${uiUrl}/namespaces/${namespace}/workflows/${workflowId}`;
}

function replayCommand({ cli = 'temporal', address, namespace }: TemporalAccess, workflowId: string): string {
  const target = `--address ${address} --namespace ${namespace} --workflow-id '${workflowId}'`;
  return `${cli} workflow signal ${target} --name replay --input '{"by":"me","reason":"put right"}'`;
}

/** What an application that brings its own receiver and worker is to be given, as `node --env-file` and a shell read it. */
export function serversEnvironment({ databaseUrl, temporal, smtpUrl }: Servers): string {
  const variables = {
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: temporal.namespace,
    SMTP_URL: smtpUrl,
  };
  return Object.entries(variables)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}

/** Where to find what runs. */
export function serversGuide({ temporal, mailDir }: Servers, envFile: string): string[] {
  return [
    `For your application: node --env-file=${relative('', envFile)} ..., in a shell: set -a; . ${relative('', envFile)}; set +a`,
    ...(temporal.uiUrl === undefined ? [] : [`Workflows:            ${temporal.uiUrl}`]),
    `Mails:                ${relative('', mailDir)}`,
  ];
}
