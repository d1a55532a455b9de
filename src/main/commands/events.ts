import { Option, type Command } from 'commander';
import {
  awaitActionResult,
  lastActionId,
  resolveEvent,
  signalAll,
  signalOne,
  type EventActionRequest,
} from '../../admin/act-on-events.js';
import { findEvents, readEventDetails, type EventFilter } from '../../admin/find-events.js';
import { INBOX_STATUSES, type InboxStatus } from '../../domain/event.js';
import { CommandError } from '../../errors.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { readCount, readDuration } from '../command-options.js';
import { withTool, type Tool } from '../open-tool.js';
import { printEvent, printEvents } from '../print-events.js';
import { printDocument, report } from '../print-document.js';

interface FilterOptions {
  readonly status?: InboxStatus;
  readonly reason?: string;
  readonly type?: string;
  readonly scope?: string;
  readonly olderThan?: number;
}

interface ActOptions {
  readonly by: string;
  readonly reason: string;
  readonly scope?: string;
  readonly status?: InboxStatus;
  readonly quarantineReason?: string;
  readonly type?: string;
  readonly olderThan?: number;
  readonly limit: number;
  readonly rate: number;
  readonly wait?: number | true;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** How long `--wait` waits when it names no time, in milliseconds. */
const DEFAULT_WAIT_MS = 30_000;

/** `oncehook events`: look at events, replay them, discard them. */
export function addEventsCommands(program: Command, finish: (code: ExitCode) => void): void {
  const events = program.command('events').description('look at events; replay or discard them');

  events
    .command('list')
    .description('events in the inbox, oldest first')
    .addOption(statusOption())
    .option('--reason <code>', 'only with this reason code')
    .option('--type <type>', 'only of this event type')
    .option('--scope <scope>', 'only of this scope')
    .option('--older-than <duration>', 'received at least this long ago (10m, 2h, 3d)', readDuration)
    .option('--limit <n>', 'at most this many', readCount, 50)
    .option('--json', 'print one JSON document')
    .action((options: FilterOptions & { readonly limit: number; readonly json?: boolean }) =>
      withTool(async ({ pool }) => {
        const found = await findEvents(pool, filterOf(options), options.limit + 1);
        const shown = found.slice(0, options.limit);
        if (options.json === true) printDocument({ events: shown, more: found.length > shown.length });
        else printEvents(shown, found.length > shown.length);
      }),
    );

  events
    .command('show')
    .description('all that is known of one event, except its payload')
    .argument('<event-id>')
    .option('--scope <scope>', 'where several scopes have the ID')
    .option('--json', 'print one JSON document')
    .action((eventId: string, options: { readonly scope?: string; readonly json?: boolean }) =>
      withTool(async ({ pool }) => {
        const event = await resolveEvent(pool, eventId, options.scope);
        const details = await readEventDetails(pool, event);
        if (details === undefined) throw new CommandError('not_found', `No event ${eventId} in the inbox`);
        if (options.json === true) printDocument(details);
        else printEvent(details);
      }),
    );

  addActCommand(events, 'replay', 'run an event again with a fresh budget (or cut its wait short)', finish);
  addActCommand(events, 'discard', 'end an event without applying it', finish);
}

function addActCommand(
  events: Command,
  action: EventActionRequest['action'],
  description: string,
  finish: (code: ExitCode) => void,
): void {
  events
    .command(action)
    .description(`${description}; without an event ID, all that match the filters`)
    .argument('[event-id]')
    .requiredOption('--by <name>', 'who asks; kept with the event')
    .requiredOption('--reason <text>', 'why; kept with the event')
    .option('--scope <scope>', 'only of this scope')
    .addOption(statusOption())
    .option('--quarantine-reason <code>', 'only with this reason code')
    .option('--type <type>', 'only of this event type')
    .option('--older-than <duration>', 'received at least this long ago (10m, 2h, 3d)', readDuration)
    .option('--limit <n>', 'at most this many', readCount, 1_000)
    .option('--rate <n>', 'at most this many a second', readCount, 10)
    .option('--wait [duration]', 'wait for the result of a single event (default 30s)', readDuration)
    .option('--dry-run', 'only say what would be done')
    .option('--yes', 'needed to act on all that match')
    .option('--json', 'print one JSON document')
    .action((eventId: string | undefined, options: ActOptions) =>
      withTool(async (tool) => {
        const request: EventActionRequest = { action, by: options.by, reason: options.reason };
        finish(
          eventId === undefined
            ? await actOnAll(tool, request, options)
            : await actOnOne(tool, eventId, request, options),
        );
      }),
    );
}

async function actOnOne(
  tool: Tool,
  eventId: string,
  request: EventActionRequest,
  options: ActOptions,
): Promise<ExitCode> {
  const event = await resolveEvent(tool.pool, eventId, options.scope);
  if (options.dryRun === true) {
    report(options, { would: request.action, scope: event.scope, eventId, status: event.status });
    return EXIT.done;
  }
  const before = await lastActionId(tool.pool, event);
  await signalOne({ db: tool.pool, signalEvent: tool.signalEvent }, event, request);
  if (options.wait === undefined) {
    report(options, { signalled: request.action, scope: event.scope, eventId });
    return EXIT.done;
  }
  const timeoutMs = options.wait === true ? DEFAULT_WAIT_MS : options.wait;
  const result = await awaitActionResult(tool.pool, event, before, timeoutMs);
  report(options, { signalled: request.action, scope: event.scope, eventId, result: result ?? 'not yet' });
  return result === null ? EXIT.waitEnded : EXIT.done;
}

async function actOnAll(tool: Tool, request: EventActionRequest, options: ActOptions): Promise<ExitCode> {
  const filter: EventFilter = {
    ...filterOf({ ...without(options), status: options.status ?? 'quarantined' }),
    ...(options.quarantineReason === undefined ? {} : { reason: options.quarantineReason }),
  };
  if (filter.status === 'done')
    throw new CommandError('usage', 'A finished event stays finished: choose another --status');
  const matching = await findEvents(tool.pool, filter, options.limit);
  if (options.dryRun === true || matching.length === 0) {
    report(options, { would: request.action, events: matching.length });
    return EXIT.done;
  }
  if (options.yes !== true) {
    throw new CommandError('usage', `${matching.length} events match: look with --dry-run, then add --yes`);
  }
  const signalled = await signalAll({ db: tool.pool, signalEvent: tool.signalEvent }, filter, request, {
    limit: options.limit,
    perSecond: options.rate,
    onSignalled: ({ scope, eventId }) => {
      if (options.json !== true) report(options, { signalled: request.action, scope, eventId });
    },
  });
  report(options, { signalled: request.action, events: signalled });
  return EXIT.done;
}

function without({ type, scope, olderThan }: ActOptions): FilterOptions {
  return {
    ...(type === undefined ? {} : { type }),
    ...(scope === undefined ? {} : { scope }),
    ...(olderThan === undefined ? {} : { olderThan }),
  };
}

function filterOf({ status, reason, type, scope, olderThan }: FilterOptions): EventFilter {
  return {
    ...(status === undefined ? {} : { status }),
    ...(reason === undefined ? {} : { reason }),
    ...(type === undefined ? {} : { type }),
    ...(scope === undefined ? {} : { scope }),
    ...(olderThan === undefined ? {} : { olderThanMs: olderThan }),
  };
}

function statusOption(): Option {
  return new Option('--status <status>', 'only in this status').choices([...INBOX_STATUSES]);
}
