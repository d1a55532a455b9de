import type { Command } from 'commander';
import type { ExitCode } from '../exit-codes.js';

/** `oncehook dev`: the whole stack on this machine, and the demonstration. */
export function addDevCommand(program: Command, finish: (code: ExitCode) => void): void {
  program
    .command('dev')
    .description(
      'run everything on this machine: PostgreSQL, Temporal with UI, receiver, worker, mail sink (npm start)',
    )
    .option('--no-demo', 'only run the service, without the demonstration')
    .option(
      '--servers',
      'only PostgreSQL, Temporal and the mail sink, for an application with receiver and worker in it',
    )
    .action(async ({ demo, servers = false }: { readonly demo: boolean; readonly servers?: boolean }) => {
      // Loaded only here: what runs a local stack has no place in a receiver or worker.
      const { runDev } = await import('../../dev/dev.js');
      finish((await runDev({ demo, servers })) ? 0 : 1);
    });
}
