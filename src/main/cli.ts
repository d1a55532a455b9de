#!/usr/bin/env node
import { runCli } from './run-cli.js';

const loaded = { foreignCode: false };

process.exitCode = await runCli(process.argv, () => {
  loaded.foreignCode = true;
  // What the user's own connections say of a database that was dropped under them comes late, and changes nothing.
  process.on('uncaughtException', () => undefined);
});

// Timers and sockets of the user's modules may never end.
if (loaded.foreignCode) {
  for (const stream of [process.stdout, process.stderr]) {
    await new Promise<void>((resolve) => {
      stream.write('', () => {
        resolve();
      });
    });
  }
  process.exit();
}
