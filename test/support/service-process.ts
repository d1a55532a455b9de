import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import { compiled, ROOT } from './dist.js';

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** A receiver or worker as a process of its own, started from the build as users start it. */
export interface ServiceProcess {
  readonly pid: number;
  /** The public port of a receiver; 0 for a worker. */
  readonly port: number;
  readonly adminPort: number;
  /** All that it logged, and each line that it wrote to stderr with the level `stderr`. */
  readonly lines: readonly LogLine[];
  /** Resolves when a line with this message was logged, from the start on. */
  logged(message: string): Promise<LogLine>;
  /** Resolves when the process is gone, however it went, and all that it logged has been read. */
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  signal(signal: NodeJS.Signals): void;
  /** Reads no more of its log: a load generator should not pay for parsing it. */
  ignoreLog(): void;
  /** SIGTERM, and waits for a clean end. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

const READY = { receiver: 'receiver ready', worker: 'worker ready' } as const;

/**
 * Starts `oncehook receiver` or `oncehook worker`.
 * @param awaitReady false to get a process that still waits for what it stands on.
 * @param onSpawn told of the process at once, before it is ready.
 * @param root of another build than this one's.
 */
export async function startService(
  role: keyof typeof READY,
  env: Readonly<Record<string, string>>,
  options: {
    readonly awaitReady?: boolean;
    readonly onSpawn?: (service: ServiceProcess) => void;
    readonly root?: string | undefined;
  } = {},
): Promise<ServiceProcess> {
  const { root = ROOT } = options;
  const child = spawn(process.execPath, [compiled('src/main/cli.js', root), role], {
    cwd: root,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? '',
      HOST: '127.0.0.1',
      PORT: '0',
      ADMIN_PORT: '0',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const service = new RunningService(child);
  options.onSpawn?.(service);
  if (options.awaitReady === false) return service;
  await service.logged('operator listener ready');
  const ready = await service.logged(READY[role]);
  service.port = typeof ready.port === 'number' ? ready.port : 0;
  return service;
}

class RunningService implements ServiceProcess {
  port = 0;
  readonly lines: LogLine[] = [];
  readonly exited: ServiceProcess['exited'];
  readonly #stderr: string[] = [];
  readonly #waiting = new Set<() => void>();
  readonly #log: Interface;
  #isClosed = false;

  constructor(readonly child: ChildProcess) {
    this.#log = createInterface({ input: child.stdout! }).on('line', (line) => {
      this.#read(line);
    });
    createInterface({ input: child.stderr! }).on('line', (line) => {
      this.#stderr.push(line);
      this.lines.push({ level: 'stderr', msg: line });
      this.#wake();
    });
    this.exited = once(child, 'close').then(([code, signal]) => {
      this.#isClosed = true;
      this.#wake();
      return { code: code as number | null, signal: signal as NodeJS.Signals | null };
    });
  }

  get pid(): number {
    return this.child.pid!;
  }

  get adminPort(): number {
    return Number(this.lines.find(({ msg }) => msg === 'operator listener ready')?.port ?? 0);
  }

  async logged(message: string): Promise<LogLine> {
    for (;;) {
      const line = this.lines.find(({ msg }) => msg === message);
      if (line !== undefined) return line;
      if (this.#isClosed)
        throw new Error(`the process ended before it logged "${message}": ${this.#stderr.join('\n')}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  ignoreLog(): void {
    this.#log.close();
    this.child.stdout!.resume();
  }

  async stop(): Promise<void> {
    if (this.#isGone()) return;
    this.child.kill('SIGTERM');
    await this.exited;
  }

  async kill(): Promise<void> {
    if (this.#isGone()) return;
    this.child.kill('SIGKILL');
    await this.exited;
  }

  #isGone(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  #read(text: string): void {
    try {
      this.lines.push(JSON.parse(text) as LogLine);
    } catch {
      this.lines.push({ level: 'raw', msg: text });
    }
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}
