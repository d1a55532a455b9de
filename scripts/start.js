// `npm start`: whatever a fresh clone lacks, then the local stack (src/dev) in this same process, so that signals and the
// exit code need no passing on.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bootstrap, reportFailure, ROOT } from './bootstrap.js';

try {
  await bootstrap();
  const cli = join(ROOT, 'dist/src/main/cli.js');
  process.argv.splice(1, 1, cli, 'dev');
  process.setSourceMapsEnabled(true);
  await import(pathToFileURL(cli).href);
} catch (error) {
  reportFailure(error);
}
