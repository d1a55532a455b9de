import { startService, type ServiceProcess } from './service-process.js';

export type Role = 'receiver' | 'worker';

/** The processes of one test, none of which outlives it. */
export interface ServiceGroup {
  /** From this build, or from another one's root. */
  start(role: Role, env: Readonly<Record<string, string>>, root?: string): Promise<ServiceProcess>;
  /** Ports of the receivers that are up. */
  readonly ports: () => readonly number[];
  /** Kills what runs, also what is only just starting; nothing can be started afterwards. */
  close(): Promise<void>;
}

export function createServiceGroup(): ServiceGroup {
  const running = new Set<ServiceProcess>();
  const receivers = new Set<ServiceProcess>();
  let isClosed = false;
  const killAll = (): void => {
    for (const service of running) service.signal('SIGKILL');
  };
  process.once('exit', killAll); // a test run that is broken off must not leave them behind
  return {
    start: async (role, env, root) => {
      if (isClosed) throw new Error('the test is over');
      const service = await startService(role, env, {
        root,
        onSpawn: (spawned) => {
          running.add(spawned);
          void spawned.exited.then(() => running.delete(spawned) && receivers.delete(spawned));
        },
      });
      if (role === 'receiver') receivers.add(service);
      return service;
    },
    ports: () => [...receivers].map(({ port }) => port),
    close: async () => {
      isClosed = true;
      await Promise.all([...running].map((service) => service.kill()));
      process.off('exit', killAll);
    },
  };
}
