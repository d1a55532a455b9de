import { InvalidArgumentError, type Command } from 'commander';
import {
  findOrders,
  readOrderDetails,
  requestForOrder,
  resolveOrder,
  type OrderFilter,
  type OrderRequest,
} from '../../admin/orders.js';
import { awaitOperation } from '../await-operation.js';
import { readCount, readDuration } from '../command-options.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { withTool, type Tool } from '../open-tool.js';
import { printDocument, report } from '../print-document.js';
import { printOrder, printOrders } from '../print-orders.js';
import { wakeOperation } from '../wake-operation.js';

interface ListOptions {
  readonly tenant?: string;
  readonly status?: string;
  readonly held?: boolean;
  readonly olderThan?: number;
  readonly limit: number;
  readonly json?: boolean;
}

interface RequestOptions {
  readonly by: string;
  readonly reason: string;
  readonly tenant?: string;
  readonly dryRun?: boolean;
  readonly wait?: number | true;
  readonly json?: boolean;
}

/** How long `--wait` waits when it names no time, in milliseconds. */
const DEFAULT_WAIT_MS = 30_000;

/** `oncehook orders`: look at orders, ask for refunds and cancellations. */
export function addOrdersCommands(program: Command, finish: (code: ExitCode) => void): void {
  const orders = program.command('orders').description('look at orders; ask for a refund or a cancellation');

  orders
    .command('list')
    .description('orders, oldest first')
    .option('--tenant <tenant>', 'only of this tenant')
    .option('--status <status>', 'only in this status')
    .option('--held', 'only those whose money is in doubt')
    .option('--older-than <duration>', 'registered at least this long ago (10m, 2h, 3d)', readDuration)
    .option('--limit <n>', 'at most this many', readCount, 50)
    .option('--json', 'print one JSON document')
    .action((options: ListOptions) =>
      withTool(async ({ pool }) => {
        const found = await findOrders(pool, filterOf(options), options.limit + 1);
        const shown = found.slice(0, options.limit);
        if (options.json === true) printDocument({ orders: shown, more: found.length > shown.length });
        else printOrders(shown, found.length > shown.length);
      }),
    );

  orders
    .command('show')
    .description('an order with its payments and effects')
    .argument('<order-id>')
    .option('--tenant <tenant>', 'where several tenants have the ID')
    .option('--json', 'print one JSON document')
    .action((id: string, options: { readonly tenant?: string; readonly json?: boolean }) =>
      withTool(async ({ pool }) => {
        const details = await readOrderDetails(pool, await resolveOrder(pool, id, options.tenant));
        if (options.json === true) printDocument(details);
        else printOrder(details);
      }),
    );

  requesting(orders.command('refund'))
    .description('ask for a refund; it goes through the brakes like any other')
    .requiredOption('--request-id <id>', 'names this request: asking again under it changes nothing')
    .requiredOption('--amount-minor <n>', "in the smallest unit of the order's currency (cents)", readAmount)
    .action((id: string, options: RequestOptions & { readonly amountMinor: bigint; readonly requestId: string }) =>
      withTool(async (tool) => {
        const { amountMinor, requestId } = options;
        finish(await ask(tool, id, { action: 'refund', amountMinor, requestId }, options));
      }),
    );

  requesting(orders.command('cancel'))
    .description('ask for the cancellation of an order that is not paid')
    .action((id: string, options: RequestOptions) =>
      withTool(async (tool) => {
        finish(await ask(tool, id, { action: 'cancel' }, options));
      }),
    );
}

async function ask(tool: Tool, id: string, request: OrderRequest, options: RequestOptions): Promise<ExitCode> {
  const { by, reason, wait } = options;
  const order = await resolveOrder(tool.pool, id, options.tenant);
  if (options.dryRun === true) {
    report(options, { would: request.action, order: order.id, tenant: order.tenant, status: order.status });
    return EXIT.done;
  }
  const operation = await requestForOrder(tool.pool, order, request, { by, reason });
  if (operation === null) {
    report(options, { [request.action]: order.id, result: 'done' });
    return EXIT.done;
  }
  await wakeOperation(tool, operation, { by, reason });
  if (wait === undefined) {
    report(options, { [request.action]: order.id, operation });
    return EXIT.done;
  }
  const settled = await awaitOperation(tool, operation, wait === true ? DEFAULT_WAIT_MS : wait);
  const result = settled?.status ?? 'not yet';
  report(options, { [request.action]: order.id, operation, result, reason: settled?.reason ?? '-' });
  return settled === null ? EXIT.waitEnded : EXIT.done;
}

function requesting(command: Command): Command {
  return command
    .argument('<order-id>')
    .requiredOption('--by <name>', 'who asks; kept with the operation')
    .requiredOption('--reason <text>', 'why; kept with the operation')
    .option('--tenant <tenant>', 'where several tenants have the ID')
    .option('--dry-run', 'only say what would be done')
    .option('--wait [duration]', 'wait for what becomes of it (default 30s)', readDuration)
    .option('--json', 'print one JSON document');
}

function filterOf({ tenant, status, held, olderThan }: ListOptions): OrderFilter {
  return {
    ...(tenant === undefined ? {} : { tenant }),
    ...(status === undefined ? {} : { status }),
    ...(held === undefined ? {} : { held }),
    ...(olderThan === undefined ? {} : { olderThanMs: olderThan }),
  };
}

function readAmount(text: string): bigint {
  if (!/^[1-9]\d{0,15}$/.test(text)) throw new InvalidArgumentError('A whole number from 1, in the smallest unit.');
  return BigInt(text);
}
