import type { WorkflowHandle } from '@temporalio/client';
import { workflowIdForEvent } from '../../src/domain/event.js';
import { keyText } from '../../src/inbox/new-event.js';
import type { HandlerSet } from '../../src/index.js';
import { receiverConfig } from '../../src/service/receiver-config.js';
import { builtInHandlerSets, workerSources } from '../../src/service/worker-sources.js';
import { sha256Hex } from '../../src/sha256.js';
import { configure, type SourceDocuments } from './configured.js';
import { startCoreWorker } from './core-worker.js';
import { openDatabase, type TestDatabase } from './database.js';
import { startReceiver, type RunningReceiver } from './running-receiver.js';
import { until } from './until.js';

/** Deliveries from their bytes to their end: receivers and a worker under one configuration, on a database of their own. */
export interface WholePath {
  readonly database: TestDatabase;
  readonly receivers: readonly [RunningReceiver, RunningReceiver];
  /** Keys of the emails that were sent, in order; one entry per mail. */
  readonly mails: readonly string[];
  /** Rows of this event ID, one per scope, once each is quarantined, or done and its run over with all its effects. */
  settled(eventId: string): Promise<readonly SettledEvent[]>;
  /** Runs of this event's workflow that Temporal knows of, at least one. */
  runs(scope: string, eventId: string): Promise<number>;
  stop(): Promise<void>;
}

export interface SettledEvent {
  readonly scope: string;
  readonly status: string;
  readonly outcome: string | null;
  readonly reason: string | null;
  readonly text: string;
}

export interface WholePathOptions {
  readonly sources: SourceDocuments;
  readonly env: Readonly<Record<string, string>>;
  /** A user's own, by name. */
  readonly handlerSets?: ReadonlyMap<string, HandlerSet>;
}

export async function startWholePath({ sources, env, handlerSets = new Map() }: WholePathOptions): Promise<WholePath> {
  const database = await openDatabase();
  const config = configure(sources, env, new Set(handlerSets.keys()));
  const sets = new Map([...builtInHandlerSets(config), ...handlerSets]);
  const core = await startCoreWorker(database, { sources: workerSources(config, sets) });
  const started: Promise<unknown>[] = [];
  const dispatched = new Set<string>();
  const runOf = (scope: string, eventId: string): WorkflowHandle =>
    core.client.workflow.getHandle(workflowIdForEvent({ scope, eventId }, sha256Hex));
  const receive = (): Promise<RunningReceiver> =>
    startReceiver(database.url, {
      config: receiverConfig(config),
      onDispatch: (event) => {
        dispatched.add(keyText(event));
        started.push(core.starts.startEvent(event));
      },
    });
  const receivers = [await receive(), await receive()] as const;
  const rows = (eventId: string): Promise<readonly SettledEvent[]> =>
    database.rows<SettledEvent>(
      `select source_scope as scope, status, outcome, reason, payload::text as text
         from oncehook.webhook_inbox join oncehook.webhook_payloads using (source_scope, event_id)
        where event_id = $1
        order by source_scope`,
      [eventId],
    );

  return {
    database,
    receivers,
    mails: core.performed,
    settled: async (eventId) => {
      await until(`${eventId} is settled`, async () => {
        const found = await rows(eventId);
        return found.length > 0 && found.every(({ status }) => status !== 'pending');
      });
      const settled = await rows(eventId);
      const wasStarted = ({ scope }: SettledEvent): boolean => dispatched.has(keyText({ scope, eventId }));
      const done = settled.filter(({ status }) => status === 'done').filter(wasStarted);
      await Promise.all(done.map(({ scope }) => runOf(scope, eventId).result()));
      return settled;
    },
    runs: async (scope, eventId) => {
      const query = `WorkflowId = "${workflowIdForEvent({ scope, eventId }, sha256Hex)}"`;
      const count = async (): Promise<number> => (await core.client.workflow.count(query)).count;
      await until(`a run of ${eventId} is listed`, async () => (await count()) > 0);
      return count();
    },
    stop: async () => {
      for (const receiver of receivers) await receiver.stop();
      await Promise.allSettled(started);
      await core.stop();
      await database.drop();
    },
  };
}
