import { createHash } from 'node:crypto';
import { request } from 'node:http';
import type { PaymentEvent } from './payment-event.js';
import { stripeSignature, unixNow } from './stripe-signing.js';

/** One attempt at a delivery and what came of it. */
export interface Delivery {
  readonly eventId: string;
  /** `null` when no answer came: refused, cut, or not in time. */
  readonly status: number | null;
  /** `accepted`, `duplicate`, or the code of a problem. */
  readonly said: string | null;
  readonly retryAfter: string | null;
  readonly ms: number;
}

/** An event that was sent, with the order that it pays. */
export interface SentEvent {
  readonly eventId: string;
  readonly orderId: string;
  /** Of the exact body, in hex. */
  readonly sha256: string;
}

/** A sender that keeps every answer. */
export interface StripeSender {
  readonly sent: readonly SentEvent[];
  readonly deliveries: readonly Delivery[];
  /** One attempt, signed at this moment; to the next receiver in turn, or to a given one. Never rejects. */
  deliver(event: PaymentEvent, port?: number): Promise<Delivery>;
  /**
   * Attempts, each under a fresh signature, until one is answered with a 2xx: Stripe takes days, this takes turns.
   * `undefined` when it was stopped before. Never rejects.
   */
  deliverUntilAccepted(event: PaymentEvent): Promise<Delivery | undefined>;
  /** No further attempts. */
  stop(): void;
}

export interface SenderOptions {
  readonly secret: string;
  /** Ports of the receivers that are up, as a load balancer would know them. */
  readonly ports: () => readonly number[];
  /** An attempt without an answer in this time has failed, in milliseconds. */
  readonly patienceMs?: number;
}

const PAUSE_MS = 100;

export function createStripeSender({ secret, ports, patienceMs = 20_000 }: SenderOptions): StripeSender {
  const sent = new Map<string, SentEvent>();
  const deliveries: Delivery[] = [];
  const stopping = new AbortController();
  let turn = 0;

  const deliver = async (event: PaymentEvent, port = nextOf(ports(), turn++)): Promise<Delivery> => {
    const body = JSON.stringify(event);
    sent.set(event.id, {
      eventId: event.id,
      orderId: String(event.data.object.metadata.order_id),
      sha256: createHash('sha256').update(body).digest('hex'),
    });
    const delivery = await attempt({ eventId: event.id, body, secret, port, patienceMs });
    deliveries.push(delivery);
    return delivery;
  };

  return {
    get sent() {
      return [...sent.values()];
    },
    deliveries,
    deliver,
    deliverUntilAccepted: async (event) => {
      while (!stopping.signal.aborted) {
        if (ports().length > 0) {
          const delivery = await deliver(event);
          if (delivery.status !== null && delivery.status < 300) return delivery;
        }
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
      return undefined;
    },
    stop: () => {
      stopping.abort();
    },
  };
}

function nextOf(ports: readonly number[], turn: number): number {
  const port = ports[turn % ports.length];
  if (port === undefined) throw new Error('no receiver is up');
  return port;
}

interface Attempt {
  readonly eventId: string;
  readonly body: string;
  readonly secret: string;
  readonly port: number;
  readonly patienceMs: number;
}

function attempt({ eventId, body, secret, port, patienceMs }: Attempt): Promise<Delivery> {
  const begun = performance.now();
  return new Promise((resolve) => {
    const finish = (rest: Partial<Delivery>): void => {
      resolve({ eventId, status: null, said: null, retryAfter: null, ms: performance.now() - begun, ...rest });
    };
    const req = request(
      {
        host: '127.0.0.1',
        port,
        method: 'POST',
        path: '/webhooks/stripe',
        agent: false,
        headers: { 'Stripe-Signature': stripeSignature(body, secret, unixNow()) },
        signal: AbortSignal.timeout(patienceMs),
      },
      (res) => {
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(chunk));
        res.on('error', () => {
          finish({});
        });
        res.on('end', () => {
          const said = saidIn(Buffer.concat(chunks).toString());
          finish({ status: res.statusCode ?? null, said, retryAfter: res.headers['retry-after'] ?? null });
        });
      },
    );
    req.on('error', () => {
      finish({});
    });
    req.end(body);
  });
}

function saidIn(text: string): string | null {
  try {
    const { code, status } = JSON.parse(text) as { readonly code?: string; readonly status?: unknown };
    return code ?? String(status);
  } catch {
    return null;
  }
}
