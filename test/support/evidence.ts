import type { Client } from '@temporalio/client';
import type { TestDatabase } from './database.js';
import type { SmtpSink } from './smtp-sink.js';
import type { Delivery, SentEvent, StripeSender } from './stripe-sender.js';

/** What everybody but us saw of a run: the sender, PostgreSQL, the mail server, Temporal. Never our own metrics. */
export interface Evidence {
  readonly mail: 'resend' | 'hold';
  readonly sent: readonly SentEvent[];
  readonly deliveries: readonly Delivery[];
  readonly inbox: readonly InboxEvidence[];
  readonly orders: readonly OrderEvidence[];
  /** Every committed statement that set an order's status, as a trigger saw it. */
  readonly transitions: readonly { readonly orderId: string; readonly before: string; readonly after: string }[];
  readonly payments: readonly { readonly orderId: string; readonly paymentId: string; readonly role: string }[];
  readonly operations: readonly OperationEvidence[];
  /** Accepted messages, one entry per copy. */
  readonly mails: readonly MailEvidence[];
  readonly runs: readonly RunEvidence[];
}

export interface InboxEvidence {
  readonly eventId: string;
  readonly status: string;
  readonly outcome: string | null;
  readonly reason: string | null;
  readonly isDispatched: boolean;
  /** Of the bytes that were verified, and of the text that is kept; in hex. */
  readonly signedSha256: string;
  readonly payloadSha256: string | null;
}

export interface OrderEvidence {
  readonly id: string;
  readonly status: string;
  readonly totalMinor: string;
  readonly capturedMinor: string;
  readonly holdReason: string | null;
  readonly customerEmail: string | null;
}

export interface OperationEvidence {
  readonly key: string;
  readonly orderId: string;
  readonly status: string;
  readonly lastError: string | null;
  readonly messageId: string | null;
}

export interface MailEvidence {
  readonly messageId: string;
  readonly sha256: string;
  readonly to: readonly string[];
}

export interface RunEvidence {
  readonly workflowId: string;
  readonly runId: string;
  readonly status: string;
}

export interface Witnesses {
  readonly mail: Evidence['mail'];
  readonly database: Pick<TestDatabase, 'rows'>;
  readonly sink: Pick<SmtpSink, 'accepted'>;
  readonly sender: Pick<StripeSender, 'sent' | 'deliveries'>;
  readonly temporal: Client;
  /** Nobody else's runs are on it. */
  readonly taskQueue: string;
}

/**
 * Lets the database itself keep every statement that sets an order's status, also to what it was: a change made twice
 * cannot hide in the final row.
 */
export async function watchTransitions({ rows }: Pick<TestDatabase, 'rows'>): Promise<void> {
  await rows(`
    create table order_transitions (id bigint generated always as identity, order_id text, before text, after text);
    create function note_order_transition() returns trigger language plpgsql as $$
    begin
      insert into public.order_transitions (order_id, before, after) values (new.id, old.status, new.status);
      return null;
    end $$;
    create trigger note_order_transition after update of status on oncehook.orders
      for each row execute function note_order_transition()`);
}

export async function collectEvidence(witnesses: Witnesses): Promise<Evidence> {
  const { mail, database, sink, sender, temporal, taskQueue } = witnesses;
  return {
    mail,
    sent: sender.sent,
    deliveries: [...sender.deliveries],
    inbox: await inboxRows(database),
    orders: await database.rows<OrderEvidence>(
      `select id, status, total_minor as "totalMinor", captured_minor as "capturedMinor",
              hold_reason as "holdReason", customer_email as "customerEmail"
         from oncehook.orders`,
    ),
    transitions: await database.rows(`select order_id as "orderId", before, after from order_transitions order by id`),
    payments: await database.rows(
      `select order_id as "orderId", provider_payment_id as "paymentId", role from oncehook.payments`,
    ),
    operations: await database.rows<OperationEvidence>(
      `select operation_key as key, params->>'orderId' as "orderId", status,
              last_error as "lastError", message_id as "messageId"
         from oncehook.operations`,
    ),
    mails: sink.accepted(),
    runs: await runsOn(temporal, taskQueue),
  };
}

function inboxRows(database: Pick<TestDatabase, 'rows'>): Promise<readonly InboxEvidence[]> {
  return database.rows<InboxEvidence>(
    `select i.event_id as "eventId", i.status, i.outcome, i.reason,
            i.dispatched_at is not null as "isDispatched",
            encode(i.signed_sha256, 'hex') as "signedSha256",
            encode(sha256(convert_to(p.payload::text, 'UTF8')), 'hex') as "payloadSha256"
       from oncehook.webhook_inbox i
       left join oncehook.webhook_payloads p using (source_scope, event_id)`,
  );
}

async function runsOn(temporal: Client, taskQueue: string): Promise<readonly RunEvidence[]> {
  const runs: RunEvidence[] = [];
  for await (const { workflowId, runId, status } of temporal.workflow.list({ query: `TaskQueue = "${taskQueue}"` })) {
    runs.push({ workflowId, runId, status: status.name });
  }
  return runs;
}
