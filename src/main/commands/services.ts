import type { Command } from 'commander';
import { openProcess } from '../open-process.js';
import { runReceiver } from '../receiver-process.js';
import { runWorker } from '../worker-process.js';

/** `oncehook receiver` and `oncehook worker`: the two long-running processes; several of each may run. */
export function addServiceCommands(program: Command): void {
  program
    .command('receiver')
    .description('receive webhooks: verify, commit, answer, start workflows')
    .action(async () => {
      await runReceiver(openProcess('receiver'));
    });
  program
    .command('worker')
    .description('carry events on: workflows, activities, the sweeper')
    .action(async () => {
      await runWorker(openProcess('worker'));
    });
}
