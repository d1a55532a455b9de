import type { Command } from 'commander';
import { openProcess } from '../open-process.js';

/** `oncehook receiver` and `oncehook worker`: the two long-running processes; several of each may run. */
export function addServiceCommands(program: Command): void {
  program
    .command('receiver')
    .description('receive webhooks: verify, commit, answer, start workflows')
    .action(async () => {
      // Loaded when asked for: a receiver or a command on events has no use for a worker's parts, which take longest.
      const { runReceiver } = await import('../receiver-process.js');
      await runReceiver(openProcess('receiver'));
    });
  program
    .command('worker')
    .description('carry events on: workflows, activities, the sweeper')
    .action(async () => {
      const { runWorker } = await import('../worker-process.js');
      await runWorker(openProcess('worker'));
    });
}
