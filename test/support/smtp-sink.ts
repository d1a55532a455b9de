import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** What the next connection meets; a number is the reply code given at that point. */
export type SinkBehaviour =
  | 'accept'
  | 'accept-early'
  | 'accept-then-cut'
  | 'accept-then-silent'
  | `auth:${number}`
  | 'cut-after-dot'
  | 'cut-at-once'
  | 'cut-in-content'
  | 'cut-in-envelope'
  | `data:${number}`
  | `end:${number}`
  | `greet:${number}`
  | 'greet-silent'
  | 'hang-in-content'
  | `mail:${number}`
  | 'offer-auth'
  | `rcpt:${number}`
  | 'silent-after-dot'
  | `small:${number}`
  | `torn-reply:${number}`;

export interface AcceptedMail {
  readonly type: 'accepted';
  readonly from: string;
  readonly to: readonly string[];
  readonly messageId: string;
  readonly sha256: string;
  readonly content: string;
}

export interface SinkSession {
  readonly type: 'session';
  readonly behaviour: string;
  readonly commands: readonly string[];
}

export interface SmtpSink {
  readonly port: number;
  readonly url: string;
  /** What the next connections meet, in order; `accept` after them. */
  script(...behaviours: SinkBehaviour[]): Promise<void>;
  accepted(): readonly AcceptedMail[];
  sessions(): readonly SinkSession[];
  kill(): Promise<void>;
}

/** Starts the sink as a process of its own; a second one may go on with the same ledger and port. */
export async function startSmtpSink(ledger: string, port = 0): Promise<SmtpSink> {
  const child = fork(fileURLToPath(new URL('./smtp-sink-process.js', import.meta.url)), [ledger, String(port)]);
  const [ready] = (await once(child, 'message')) as [{ port: number }];
  return {
    port: ready.port,
    url: `smtp://127.0.0.1:${ready.port}`,
    script: async (...behaviours) => {
      child.send(behaviours);
      await once(child, 'message');
    },
    accepted: () => entries(ledger).filter((entry) => entry.type === 'accepted'),
    sessions: () => entries(ledger).filter((entry) => entry.type === 'session'),
    kill: () => end(child),
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

function entries(ledger: string): (AcceptedMail | SinkSession)[] {
  return readFileSync(ledger, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AcceptedMail | SinkSession);
}
