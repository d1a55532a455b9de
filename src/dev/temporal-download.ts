/**
 * A program of its own: `node temporal-download.js DIR VERSION` lets the Temporal SDK fetch its CLI into DIR. The SDK does that
 * only on the way to starting a server, and its runtime cannot be taken down again, so both happen in this throwaway process.
 */
import { Runtime } from '@temporalio/worker';

const [downloadDir = '', version = ''] = process.argv.slice(2);
try {
  const server = await Runtime.instance().createEphemeralServer({
    type: 'dev-server',
    exe: {
      type: 'cached-download',
      downloadDir,
      version,
      ttl: 24 * 3600 * 1000,
      sdkName: 'sdk-typescript',
      sdkVersion: '',
    },
    namespace: 'default',
    ip: '127.0.0.1',
    port: null,
    uiPort: null,
    dbFilename: null,
    ui: false,
    log: { format: 'pretty', level: 'error' },
    extraArgs: [],
  });
  await Runtime.instance().shutdownEphemeralServer(server);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
