import { Agent, request } from 'node:http';
import { stripeSignature, unixNow } from '../support/stripe-signing.js';

export interface LoadResult {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Sends signed bodies over kept connections, `concurrency` at a time; every answer must be 200. */
export async function sendLoad(
  port: number,
  secret: string,
  bodies: readonly string[],
  concurrency: number,
): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const durations: number[] = [];
  const queue = [...bodies];
  const begun = performance.now();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (let body = queue.pop(); body !== undefined; body = queue.pop()) {
        const sent = performance.now();
        const status = await post(port, agent, secret, body);
        if (status !== 200) throw new Error(`answered ${status}`);
        durations.push(performance.now() - sent);
      }
    }),
  );
  const seconds = (performance.now() - begun) / 1_000;
  agent.destroy();
  durations.sort((a, b) => a - b);
  const at = (part: number): number => durations[Math.floor((durations.length - 1) * part)] ?? 0;
  return { perSecond: bodies.length / seconds, p50Ms: at(0.5), p99Ms: at(0.99) };
}

function post(port: number, agent: Agent, secret: string, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = {
      'Stripe-Signature': stripeSignature(body, secret, unixNow()),
      'Content-Length': Buffer.byteLength(body),
    };
    const req = request(
      { port, host: '127.0.0.1', method: 'POST', path: '/webhooks/stripe', agent, headers },
      (res) => {
        res.resume();
        res.on('end', () => {
          resolve(res.statusCode ?? 0);
        });
      },
    );
    req.on('error', reject);
    req.end(body);
  });
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
