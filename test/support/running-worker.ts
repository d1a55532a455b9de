import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { inject } from 'vitest';

// Tests make activities fail on purpose; a process may have one runtime, so it is said before the first connection.
Runtime.install({ logger: new DefaultLogger('ERROR') });

/** A Temporal worker of a test, and a client beside it. */
export interface RunningWorker {
  readonly client: Client;
  /** Finishes what was begun, and closes the connections. */
  stop(): Promise<void>;
}

export async function startTemporalWorker(options: Omit<WorkerOptions, 'connection'>): Promise<RunningWorker> {
  const address = inject('temporalAddress');
  const native = await NativeConnection.connect({ address });
  const connection = await Connection.connect({ address });
  const worker = await Worker.create({ ...options, connection: native });
  const running = worker.run();
  return {
    client: new Client({ connection }),
    stop: async () => {
      worker.shutdown();
      await running;
      await native.close();
      await connection.close();
    },
  };
}
