import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { finished } from 'node:stream/promises';
import { sendAnswer } from './answer.js';
import { answerTo } from './answer-verdict.js';
import { recordDelivery, type DeliveryLogOptions } from './delivery-log.js';
import { judgeDelivery, type IncomingDelivery, type JudgeDeps } from './judge-delivery.js';
import { closeIfUnread } from './problem.js';
import { readBody } from './read-body.js';
import type { ReceivingSource } from './receiving-source.js';
import { identifyRequest } from './request-id.js';
import { startProcessing, type StartProcessingDeps } from './start-processing.js';
import { createTurns } from './turns.js';
import { refused, type Verdict } from './verdict.js';

export interface ReceiveDeps extends JudgeDeps, StartProcessingDeps, DeliveryLogOptions {
  readonly sources: ReadonlyMap<string, ReceivingSource>;
}

/** Handles every request to `/webhooks/{source}`, from its method to its answer. Never rejects. */
export type ReceiveWebhook = (req: IncomingMessage, res: ServerResponse, sourceName: string) => Promise<void>;

export function createReceiveWebhook(deps: ReceiveDeps): ReceiveWebhook {
  const turns = createTurns();
  // Whose last delivery was refused: a flood of these waits for everybody else.
  const refusedOn = new WeakSet<Socket>();
  return async (req, res, sourceName) => {
    const startedAt = performance.now();
    const requestId = identifyRequest(req, res);
    await turns.next(refusedOn.has(req.socket) ? 'last' : 'in_order');
    const receiving = deps.sources.get(sourceName);
    const verdict = await judgeDelivery(deps, deliveryIn(req), receiving, requestId).catch((error: unknown) =>
      refused('unavailable', 'unexpected_error', { err: error }),
    );
    if (verdict.kind === 'refused') refusedOn.add(req.socket);
    else refusedOn.delete(req.socket);
    answer(deps, req, res, requestId, receiving, verdict);
    const durationMs = performance.now() - startedAt;
    recordDelivery(deps, { requestId, source: receiving?.source.name, verdict, durationMs });
    await startProcessing(deps, verdict, () => finished(res).catch(() => undefined));
  };
}

function deliveryIn(req: IncomingMessage): IncomingDelivery {
  return {
    method: req.method ?? '',
    headers: req.headersDistinct,
    readBody: (options) => readBody(req, options),
  };
}

function answer(
  deps: ReceiveDeps,
  req: IncomingMessage,
  res: ServerResponse,
  requestId: string,
  receiving: ReceivingSource | undefined,
  verdict: Verdict,
): void {
  if (res.destroyed || res.headersSent) return;
  if (deps.isStopping()) res.setHeader('Connection', 'close');
  const heard = answerTo(verdict, requestId, receiving);
  if (heard === undefined) {
    res.destroy();
    return;
  }
  if (verdict.kind === 'refused') closeIfUnread(req, res);
  sendAnswer(req, res, heard);
}
