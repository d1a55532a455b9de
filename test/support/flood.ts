import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface FloodSettings {
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
  /** Whole requests, sent in turn. */
  readonly requests: readonly Buffer[];
}

export interface FloodResult {
  /** Answers by status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Requests whose connection ended without an answer. */
  readonly broken: number;
  readonly slowestMs: number;
}

/** Floods a port from a process of its own; every connection always has one request under way. */
export async function flood({ requests, ...settings }: FloodSettings): Promise<FloodResult> {
  const child = fork(fileURLToPath(new URL('./flood-process.js', import.meta.url)));
  child.send({ ...settings, requests: requests.map((request) => request.toString('base64')) });
  const [result] = (await once(child, 'message')) as [FloodResult];
  return result;
}
