import { Option, type Command } from 'commander';
import {
  actOnOperation,
  pauseOperations,
  resumeOperations,
  type OperationActionRequest,
  type OperatorName,
  type PauseTarget,
} from '../../admin/act-on-operations.js';
import { findOperations, findPauses, readOperationDetails, type OperationFilter } from '../../admin/find-operations.js';
import { OPERATION_STATUSES, type OperationStatus } from '../../domain/operation.js';
import { CommandError } from '../../errors.js';
import { awaitOperation } from '../await-operation.js';
import { readCount, readDuration } from '../command-options.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { withTool, type Tool } from '../open-tool.js';
import { printDocument, report } from '../print-document.js';
import { printOperation, printOperations } from '../print-operations.js';
import { wakeOperation } from '../wake-operation.js';

interface FilterOptions {
  readonly status?: OperationStatus;
  readonly kind?: string;
  readonly tenant?: string;
  readonly scope?: string;
  readonly order?: string;
  readonly reasonCode?: string;
  readonly olderThan?: number;
  readonly limit: number;
}

interface ActOptions extends FilterOptions {
  readonly by: string;
  readonly reason: string;
  readonly wait?: number | true;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

interface SettleOptions extends ActOptions {
  readonly as: 'confirmed' | 'refused';
  readonly reference?: string;
}

interface PauseOptions {
  readonly by: string;
  readonly reason: string;
  readonly tenant?: string;
  readonly scope?: string;
  readonly json?: boolean;
}

/** How long `--wait` waits when it names no time, in milliseconds. */
const DEFAULT_WAIT_MS = 30_000;

/** `oncehook operations`: look at external effects, let them go on, end them, hold them back. */
export function addOperationsCommands(program: Command, finish: (code: ExitCode) => void): void {
  const operations = program
    .command('operations')
    .description('look at refunds, mails and other effects; approve, retry, settle, pause them');

  filtered(operations.command('list').description('operations, oldest first, and the pauses that stand'))
    .addOption(statusOption())
    .option('--json', 'print one JSON document')
    .action((options: FilterOptions & { readonly json?: boolean }) =>
      withTool(async ({ pool }) => {
        const found = await findOperations(pool, filterOf(options), options.limit + 1);
        const shown = found.slice(0, options.limit);
        const more = found.length > shown.length;
        const pauses = await findPauses(pool);
        if (options.json === true) printDocument({ operations: shown, pauses, more });
        else printOperations(shown, pauses, more);
      }),
    );

  operations
    .command('show')
    .description('all that is known of one operation')
    .argument('<operation-key>')
    .option('--json', 'print one JSON document')
    .action((key: string, options: { readonly json?: boolean }) =>
      withTool(async ({ pool }) => {
        const details = await readOperationDetails(pool, key);
        if (details === undefined) throw new CommandError('not_found', `No operation ${key}`);
        if (options.json === true) printDocument(details);
        else printOperation(details);
      }),
    );

  acting(filtered(operations.command('approve').argument('[operation-key]')))
    .description('let a proposed operation go; without a key, all proposed ones that match the filters')
    .option('--dry-run', 'only say what would be done')
    .option('--yes', 'needed to act on all that match')
    .action((key: string | undefined, options: ActOptions) =>
      withTool(async (tool) => {
        finish(
          key === undefined ? await approveAll(tool, options) : await act(tool, key, { action: 'approve' }, options),
        );
      }),
    );

  acting(operations.command('retry').argument('<operation-key>'))
    .description('plan a refused operation again under a new key')
    .action((key: string, options: ActOptions) =>
      withTool(async (tool) => {
        finish(await act(tool, key, { action: 'retry' }, options));
      }),
    );

  acting(operations.command('settle').argument('<operation-key>'))
    .description('say what became of a parked operation; refused also declines a proposed one')
    .addOption(new Option('--as <status>', 'what became of it').choices(['confirmed', 'refused']).makeOptionMandatory())
    .option('--reference <id>', "the other side's ID of the effect, when it is confirmed")
    .action((key: string, options: SettleOptions) =>
      withTool(async (tool) => {
        finish(await act(tool, key, settleRequest(options), options));
      }),
    );

  pausing(operations.command('pause'))
    .description('send no more operations of a kind (all: of any), at once and everywhere')
    .action((kind: string, options: PauseOptions) =>
      withTool(async ({ pool }) => {
        const target = targetOf(kind, options);
        const result = await pauseOperations(pool, target, options);
        report(options, { result, ...target });
      }),
    );

  pausing(operations.command('resume'))
    .description('lift a pause; it is named exactly as it was set')
    .action((kind: string, options: PauseOptions) =>
      withTool(async (tool) => {
        finish(await resume(tool, targetOf(kind, options), options));
      }),
    );
}

async function act(tool: Tool, key: string, request: OperationActionRequest, options: ActOptions): Promise<ExitCode> {
  if (options.dryRun === true) {
    const details = await readOperationDetails(tool.pool, key);
    if (details === undefined) throw new CommandError('not_found', `No operation ${key}`);
    report(options, { would: request.action, operation: key, status: details.status });
    return EXIT.done;
  }
  const result = await actOnOperation(tool.pool, key, request, options);
  const started = result === 'planned' && (await wakeOperation(tool, key, nameOf(options)));
  if (options.wait === undefined || result !== 'planned') {
    report(options, { [request.action]: key, result, ...(result === 'planned' ? { started } : {}) });
    return EXIT.done;
  }
  const settled = await awaitOperation(tool, key, options.wait === true ? DEFAULT_WAIT_MS : options.wait);
  report(options, { [request.action]: key, result: settled?.status ?? 'not yet', reason: settled?.reason ?? '-' });
  return settled === null ? EXIT.waitEnded : EXIT.done;
}

async function approveAll(tool: Tool, options: ActOptions): Promise<ExitCode> {
  const matching = await findOperations(tool.pool, { ...filterOf(options), status: 'proposed' }, options.limit);
  if (options.dryRun === true || matching.length === 0) {
    report(options, { would: 'approve', operations: matching.length });
    return EXIT.done;
  }
  if (options.yes !== true) {
    throw new CommandError(
      'usage',
      `${matching.length} proposed operations match: look with --dry-run, then add --yes`,
    );
  }
  let isAnswered = true;
  for (const { operationKey } of matching) {
    const result = await actOnOperation(tool.pool, operationKey, { action: 'approve' }, options);
    // After one start that nobody answered the others are the sweeper's.
    isAnswered = isAnswered && (await wakeOperation(tool, operationKey, nameOf(options)));
    if (options.json !== true) report(options, { approve: operationKey, result });
  }
  report(options, { approved: matching.length });
  return EXIT.done;
}

async function resume(tool: Tool, target: PauseTarget, options: PauseOptions): Promise<ExitCode> {
  const keys = await resumeOperations(tool.pool, target, options);
  if (keys === null) {
    throw new CommandError('not_found', `There is no pause of ${describe(target)}: see oncehook operations list`);
  }
  for (const key of keys) if (!(await wakeOperation(tool, key, nameOf(options)))) break;
  report(options, { result: 'resumed', ...target, operations: keys.length });
  return EXIT.done;
}

function settleRequest({ as, reference }: SettleOptions): OperationActionRequest {
  if (as === 'confirmed') return { action: 'settle', as, reference: checkedReference(reference) };
  if (reference !== undefined) throw new CommandError('usage', '--reference goes with --as confirmed only');
  return { action: 'settle', as };
}

function checkedReference(reference: string | undefined): string | null {
  if (reference === undefined) return null;
  if (/^[\x21-\x7e]{1,255}$/.test(reference)) return reference;
  throw new CommandError('usage', 'A reference is 1 to 255 printable ASCII characters without spaces');
}

/** `all` on the command line, since a shell would make files of `*`. */
function targetOf(kind: string, { tenant = '*', scope = '*' }: PauseOptions): PauseTarget {
  return { kind: kind === 'all' ? '*' : kind, tenant, scope };
}

function describe({ kind, tenant, scope }: PauseTarget): string {
  return `kind ${kind}, tenant ${tenant}, scope ${scope}`;
}

function nameOf({ by, reason }: OperatorName): OperatorName {
  return { by, reason };
}

function filterOf(options: FilterOptions): OperationFilter {
  const { status, kind, tenant, scope, order, reasonCode, olderThan } = options;
  return {
    ...(status === undefined ? {} : { status }),
    ...(kind === undefined ? {} : { kind }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(scope === undefined ? {} : { scope }),
    ...(order === undefined ? {} : { order }),
    ...(reasonCode === undefined ? {} : { reason: reasonCode }),
    ...(olderThan === undefined ? {} : { olderThanMs: olderThan }),
  };
}

function filtered(command: Command): Command {
  return command
    .option('--kind <kind>', 'only of this kind: refund, cancel_payment_intent, email, ...')
    .option('--tenant <tenant>', 'only of this tenant')
    .option('--scope <scope>', 'only of this account and mode')
    .option('--order <id>', 'only of this order')
    .option('--reason-code <code>', 'only with this reason code')
    .option('--older-than <duration>', 'planned at least this long ago (10m, 2h, 3d)', readDuration)
    .option('--limit <n>', 'at most this many', readCount, 50);
}

function acting(command: Command): Command {
  return command
    .requiredOption('--by <name>', 'who asks; kept with the operation')
    .requiredOption('--reason <text>', 'why; kept with the operation')
    .option('--wait [duration]', 'wait for what becomes of it (default 30s)', readDuration)
    .option('--json', 'print one JSON document');
}

function pausing(command: Command): Command {
  return command
    .argument('<kind>', 'a kind, or all')
    .requiredOption('--by <name>', 'who asks; kept with the pause')
    .requiredOption('--reason <text>', 'why; kept with the pause')
    .option('--tenant <tenant>', 'only of this tenant')
    .option('--scope <scope>', 'only of this account and mode')
    .option('--json', 'print one JSON document');
}

function statusOption(): Option {
  return new Option('--status <status>', 'only in this status').choices([...OPERATION_STATUSES]);
}
