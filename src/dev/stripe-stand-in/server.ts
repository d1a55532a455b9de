import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal, type Answer } from './answer.js';
import { newId, openBooks, type Books, type RefundStatus, type StripeEvent } from './books.js';
import { applyControl, type ControlState } from './control.js';
import { createFaultScript, type FaultEffect } from './faults.js';
import { canonical, parseForm, type Params } from './form.js';
import { createIdempotencyStore, type IdempotencyStore } from './idempotency-store.js';
import { openLedger } from './ledger.js';
import { routeFor, type Call } from './routes.js';
import { createWebhookSender } from './webhooks.js';

export interface StandInOptions {
  /** A file of one JSON line per executed effect, written before anything is answered. */
  readonly ledger: string;
  /** 0 for any free one. */
  readonly port: number;
}

export interface StandIn {
  readonly port: number;
  stop(): Promise<void>;
}

/** One account in one mode, as Stripe keeps them apart. */
interface Space {
  readonly books: Books;
  readonly keys: IdempotencyStore;
}

const API_VERSION = '2026-10-28.endive';
const MAX_BODY_BYTES = 1_048_576;

/**
 * A stand-in for the part of Stripe's API that oncehook uses, on loopback, with Stripe's idempotency. Sources: Stripe's
 * API reference, docs.stripe.com/api/idempotent_requests and docs.stripe.com/error-low-level. What it does besides is
 * told to it under `/_control` (see control.ts).
 */
export async function startStripeStandIn({ ledger: path, port }: StandInOptions): Promise<StandIn> {
  const ledger = openLedger(path);
  const faults = createFaultScript();
  const webhooks = createWebhookSender();
  const spaces = new Map<string, Space>();
  let clockOffsetMs = 0;
  let refundStatus: RefundStatus = 'succeeded';
  const now = (): number => Date.now() + clockOffsetMs;

  const spaceOf = (account: string | null, livemode: boolean): Space => {
    const name = `${account ?? ''}:${livemode ? 'live' : 'test'}`;
    const known = spaces.get(name);
    if (known !== undefined) return known;
    const space = { books: openBooks(account, livemode), keys: createIdempotencyStore(now) };
    spaces.set(name, space);
    return space;
  };

  const emitTo = (books: Books, key: string | null, type: string, object: unknown): void => {
    const event: StripeEvent = {
      id: newId('evt'),
      object: 'event',
      type,
      api_version: API_VERSION,
      created: Math.floor(now() / 1_000),
      livemode: books.livemode,
      ...(books.account === null ? {} : { account: books.account }),
      pending_webhooks: 1,
      request: { id: newId('req'), idempotency_key: key },
      data: { object: structuredClone(object) },
    };
    books.events.set(event.id, event);
    webhooks.send(event);
  };

  const callOf = ({ books }: Space, params: Params, idempotencyKey: string | null): Call => ({
    books,
    params,
    idempotencyKey,
    now: Math.floor(now() / 1_000),
    note: ledger.note,
    emit: (type, object) => {
      emitTo(books, idempotencyKey, type, object);
    },
    refundStatus,
  });

  const control: ControlState = {
    faults,
    webhooks,
    setClockOffset: (ms) => {
      clockOffsetMs = ms;
    },
    setRefundStatus: (status) => {
      refundStatus = status;
    },
    books: (account, livemode) => spaceOf(account, livemode).books,
    emit: (books, type, object) => {
      emitTo(books, null, type, object);
    },
    now: () => Math.floor(now() / 1_000),
  };

  const answerApi = async (
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    body: string,
  ): Promise<void> => {
    const key = apiKeyOf(request);
    if (key === null) {
      send(response, { status: 401, body: { error: { type: 'invalid_request_error', message: 'Invalid API Key.' } } });
      return;
    }
    const method = request.method ?? 'GET';
    const fault = faults.take(method, url.pathname);
    if (fault !== null && (await preempts(fault, response))) return;
    const params = parseForm(method === 'GET' ? url.search : body);
    const space = spaceOf(
      headerOf(request, 'stripe-account'),
      key.startsWith('sk_live_') || key.startsWith('rk_live_'),
    );
    const idempotencyKey = method === 'POST' ? headerOf(request, 'idempotency-key') : null;
    const answer = await withKey(
      space.keys,
      idempotencyKey,
      `${method} ${url.pathname} ${canonical(params)}`,
      fault,
      () => {
        const run = routeFor(method, url.pathname);
        if (run === undefined)
          throw new Refusal(
            404,
            { type: 'invalid_request_error' },
            `Unrecognized request URL (${method}: ${url.pathname}).`,
            false,
          );
        return run(callOf(space, params, idempotencyKey));
      },
    );
    await deliver(answer, fault, response);
  };

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    readBody(request)
      .then(async (body) => {
        if (url.pathname.startsWith('/_control/')) {
          send(response, applyControl(control, request.method ?? 'GET', url.pathname.slice('/_control/'.length), body));
        } else {
          await answerApi(request, response, url, body);
        }
      })
      .catch((error: unknown) => {
        if (!response.headersSent)
          send(response, { status: 500, body: { error: { type: 'api_error', message: String(error) } } });
      });
  });
  server.keepAliveTimeout = 5_000;
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    stop: async () => {
      webhooks.stop();
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
      ledger.close();
    },
  };
}

/** Runs a request under its key; without one it is simply run. */
async function withKey(
  keys: IdempotencyStore,
  key: string | null,
  fingerprint: string,
  fault: FaultEffect | null,
  run: () => unknown,
): Promise<Answer> {
  if (key === null) return (await execute(fault, run)).answer;
  const admission = keys.admit(key, fingerprint);
  switch (admission.kind) {
    case 'in_flight':
      return refusal(409, 'invalid_request_error', 'idempotency_key_in_use');
    case 'other_request':
      return refusal(400, 'idempotency_error');
    case 'replay':
      return { ...admission.answer, headers: { ...admission.answer.headers, 'Idempotent-Replayed': 'true' } };
    case 'new': {
      const { answer, isStored } = await execute(fault, run);
      if (isStored) keys.keep(key, fingerprint, answer);
      else keys.forget(key);
      return answer;
    }
  }
}

async function execute(fault: FaultEffect | null, run: () => unknown): Promise<{ answer: Answer; isStored: boolean }> {
  if (fault?.kind === 'slow') await sleep(fault.ms);
  if (fault?.kind === 'stored-500') {
    if (fault.executes) run();
    return { answer: refusal(500, 'api_error'), isStored: true };
  }
  try {
    // As it is now: the object goes on changing, a kept answer does not.
    return { answer: { status: 200, body: structuredClone(run()) }, isStored: true };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { answer: error.answer(), isStored: error.isStored };
  }
}

/** Faults that leave nothing to execute. */
async function preempts(fault: FaultEffect, response: ServerResponse): Promise<boolean> {
  switch (fault.kind) {
    case 'reset':
      response.socket?.resetAndDestroy();
      return true;
    case 'hang':
      if (fault.executes) return false;
      await once(response, 'close');
      return true;
    case 'status':
      send(response, { ...refusal(fault.status, errorTypeOf(fault.status), fault.code), headers: fault.headers ?? {} });
      return true;
    default:
      return false;
  }
}

async function deliver(answer: Answer, fault: FaultEffect | null, response: ServerResponse): Promise<void> {
  switch (fault?.kind) {
    case 'lose-answer':
      response.socket?.resetAndDestroy();
      return;
    case 'hang':
      await once(response, 'close');
      return;
    case 'drip':
      await drip(response, JSON.stringify(answer.body));
      return;
    case 'truncated': {
      const text = JSON.stringify(answer.body);
      response.writeHead(answer.status, { 'Content-Type': 'application/json', 'Content-Length': text.length });
      response.write(text.slice(0, text.length / 2));
      setTimeout(() => response.socket?.destroy(), 50);
      return;
    }
    case 'non-json':
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('<html><body>Back in a moment</body></html>');
      return;
    case 'other-object':
      send(response, { status: 200, body: { id: newId('cus'), object: 'customer' } });
      return;
    default:
      send(response, answer);
  }
}

/** A byte now and then, so that no timeout about silence ends it; and never the last one. */
async function drip(response: ServerResponse, text: string): Promise<void> {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': text.length });
  for (let sent = 0; !response.destroyed; sent++) {
    if (sent < text.length - 1) response.write(text[sent]);
    await sleep(100);
  }
}

function send(response: ServerResponse, { status, body, headers = {} }: Answer): void {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Request-Id': newId('req'), ...headers });
  response.end(JSON.stringify(body));
}

function refusal(status: number, type: string, code?: string): Answer {
  return {
    status,
    body: { error: { type, ...(code === undefined ? {} : { code }), message: `stand-in: ${code ?? type}` } },
  };
}

function errorTypeOf(status: number): string {
  if (status >= 500) return 'api_error';
  return status === 402 ? 'card_error' : 'invalid_request_error';
}

/** `Bearer` or, as curl sends it, the user of basic authentication. */
function apiKeyOf(request: IncomingMessage): string | null {
  const [scheme = '', value = ''] = (headerOf(request, 'authorization') ?? '').split(' ');
  const key = scheme === 'Basic' ? Buffer.from(value, 'base64').toString('latin1').split(':')[0] : value;
  return key !== undefined && /^[sr]k_(?:test|live)_\w+$/.test(key) ? key : null;
}

function headerOf(request: IncomingMessage, name: string): string | null {
  const value = request.headers[name];
  return typeof value === 'string' ? value : null;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
