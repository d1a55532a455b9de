import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { findEvents, readEventDetails, type EventDetails } from '../admin/find-events.js';
import { workflowIdForEvent } from '../domain/event.js';
import { isSettledForRun } from '../domain/operation.js';
import { DevStackError } from '../errors.js';
import { sha256Hex } from '../sha256.js';
import { demoScenarios, type Scenario } from './demo-events.js';
import { postEvent, type PostTarget } from './post-event.js';

export interface DemoOptions extends PostTarget {
  readonly databaseUrl: string;
  /** Whose orders the events are about. */
  readonly tenant: string;
}

/** What became of one scenario. */
export interface DemoResult {
  readonly scenario: Scenario;
  /** Each answer with its number of times, such as `200 accepted, 4 x 200 duplicate`. */
  readonly answers: string;
  readonly event: EventDetails;
  readonly orderStatus: string | undefined;
  readonly workflowId: string;
}

const SETTLED_WITHIN_MS = 60_000;

/** Registers orders, posts signed events to the receiver and waits until each of them and its effects have come to an end. */
export async function runDemo(options: DemoOptions): Promise<DemoResult[]> {
  const db = new Client({ connectionString: options.databaseUrl });
  await db.connect();
  try {
    const results: DemoResult[] = [];
    for (const scenario of demoScenarios()) results.push(await show(db, scenario, options));
    return results;
  } finally {
    await db.end();
  }
}

async function show(db: Client, scenario: Scenario, options: DemoOptions): Promise<DemoResult> {
  await registerOrder(db, scenario, options.tenant);
  const answers = await Promise.all(Array.from({ length: scenario.copies }, () => post(scenario, options)));
  const event = await settled(db, scenario, options.signal);
  return {
    scenario,
    answers: countEqual(answers),
    event,
    orderStatus: await orderStatus(db, scenario, options.tenant),
    workflowId: workflowIdForEvent(event, sha256Hex),
  };
}

async function registerOrder(db: Client, { order }: Scenario, tenant: string): Promise<void> {
  if (order === undefined) return;
  await db.query(
    `insert into oncehook.orders (tenant_id, id, total_minor, currency, customer_email)
     values ($1, $2, $3, $4, $5)`,
    [tenant, order.id, order.totalMinor, order.currency, 'buyer@example.com'],
  );
}

/** The answer as `200 accepted`, or with the code of its refusal. */
async function post({ body }: Scenario, options: DemoOptions): Promise<string> {
  const response = await postEvent(body, options);
  const text = await response.text();
  const word = /"(?:code|status)":"(\w+)"/.exec(text)?.[1] ?? '';
  return `${response.status} ${word}`.trim();
}

/** The event as it is when neither it nor its effects will change by themselves. */
async function settled(db: Client, { eventId, title }: Scenario, signal: AbortSignal): Promise<EventDetails> {
  const deadline = Date.now() + SETTLED_WITHIN_MS;
  for (;;) {
    const [listed] = await findEvents(db, { eventId }, 1);
    const event = listed === undefined ? undefined : await readEventDetails(db, listed);
    if (event !== undefined && isAtRest(event)) return event;
    if (Date.now() > deadline) {
      throw new DevStackError(
        `The demonstration's event ${eventId} (${title}) is ${event?.status ?? 'not stored'} after ${SETTLED_WITHIN_MS / 1000} s: see receiver.log and worker.log in the stack's folder.`,
      );
    }
    await pause(50, undefined, { signal });
  }
}

function isAtRest({ status, operations }: EventDetails): boolean {
  return status !== 'pending' && operations.every((operation) => isSettledForRun(operation.status));
}

async function orderStatus(db: Client, { order }: Scenario, tenant: string): Promise<string | undefined> {
  if (order === undefined) return undefined;
  const { rows } = await db.query<{ status: string }>(
    'select status from oncehook.orders where tenant_id = $1 and id = $2',
    [tenant, order.id],
  );
  return rows[0]?.status;
}

function countEqual(answers: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const answer of answers.toSorted()) counts.set(answer, (counts.get(answer) ?? 0) + 1);
  return [...counts].map(([answer, count]) => (count === 1 ? answer : `${count} x ${answer}`)).join(', ');
}
