import type { Pool } from 'pg';
import { runHandlers } from '../../activities/run-handlers.js';
import { inTransaction } from '../../src/db/transaction.js';
import type { HandlerOutcome, HandlerSet, PlannedOperation, WebhookEvent } from '../../src/index.js';
import { token } from './payment-event.js';

/** A payload as the sets `ledger` and `calendar` take it. */
export interface SetPayload {
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A payment of 42.00 EUR under a fresh reference; each test spoils one thing. */
export function paymentPayload(data: Readonly<Record<string, unknown>> = {}): SetPayload {
  return {
    id: `evt_${token()}`,
    type: 'payment.succeeded',
    data: {
      reference: `ref_${token()}`,
      amount_minor: 4200,
      currency: 'eur',
      occurred_at: '2026-03-01T09:00:00Z',
      ...data,
    },
  };
}

/** The first version of a fresh appointment; each test spoils one thing. */
export function appointmentPayload(
  data: Readonly<Record<string, unknown>> = {},
  change: 'created' | 'rescheduled' | 'canceled' = 'created',
): SetPayload {
  return {
    id: `evt_${token()}`,
    type: `appointment.${change}`,
    data: {
      appointment_id: `appt_${token()}`,
      version: 1,
      starts_at: '2026-03-02T09:00:00Z',
      ends_at: '2026-03-02T09:30:00Z',
      title: 'Check-up',
      ...data,
    },
  };
}

/** The event that a receiver would have stored for a payload. */
export function eventOf(payload: SetPayload, tenant = 'default'): WebhookEvent {
  return {
    scope: 'hmac:clinic',
    eventId: payload.id,
    type: payload.type,
    source: 'clinic',
    tenant,
    receivedAt: new Date(),
    providerCreatedAt: null,
    payloadText: JSON.stringify(payload),
    payload,
    fetched: () => undefined,
  };
}

export interface HandlerRun {
  readonly outcome: HandlerOutcome;
  readonly planned: readonly PlannedOperation[];
}

/** Runs a set's handlers for one event, as the apply step does, in a transaction of its own. */
export async function handle(pool: Pool, { handlers }: HandlerSet, event: WebhookEvent): Promise<HandlerRun> {
  const planned: PlannedOperation[] = [];
  const plan = (operations: readonly PlannedOperation[]): Promise<{ kind: 'planned' }> => {
    planned.push(...operations);
    return Promise.resolve({ kind: 'planned' });
  };
  const outcome = await inTransaction(pool, (tx) => runHandlers(handlers.get(event.type) ?? [], event, tx, plan));
  return { outcome, planned };
}
