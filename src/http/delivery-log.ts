import type { Logger } from '../observability/logger.js';
import type { Metrics } from '../observability/metrics.js';
import type { Envelope } from '../sources/source.js';
import type { LineSampler } from './line-sampler.js';
import type { Verdict } from './verdict.js';

/** Stands for a source that is not configured; no configured name can begin with it. */
const NO_SOURCE = '-';

export interface Delivery {
  readonly requestId: string;
  /** A configured source's name, else undefined: an unknown one is the caller's text. */
  readonly source: string | undefined;
  readonly verdict: Verdict;
  readonly durationMs: number;
}

export interface DeliveryLogOptions {
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly sampler: LineSampler;
}

/** Counts a delivery and writes its one line. */
export function recordDelivery({ log, metrics, sampler }: DeliveryLogOptions, delivery: Delivery): void {
  const { verdict } = delivery;
  const source = delivery.source ?? NO_SOURCE;
  const outcome = outcomeOf(verdict);
  metrics.deliveries.inc({ source, answer: outcome });
  metrics.deliverySeconds.observe({ source }, delivery.durationMs / 1000);
  countCauses(metrics, source, verdict);

  if (verdict.kind !== 'stored' && !sampler.allows(`${source} ${outcome} ${causeOf(verdict) ?? ''}`)) return;
  const line = {
    requestId: delivery.requestId,
    source,
    outcome,
    ...detailsOf(verdict),
    durationMs: Math.round(delivery.durationMs * 10) / 10,
  };
  if (outcome === 'unavailable') log.warn(line, 'delivery');
  else if (isAlarming(verdict)) log.warn(line, 'delivery');
  else log.info(line, 'delivery');
}

/** What an operator must look at: somebody sends again what is not theirs, or an ID does not tell events apart. */
function isAlarming(verdict: Verdict): boolean {
  if (verdict.kind !== 'stored') return false;
  const { disposition } = verdict.envelope;
  return verdict.otherBytes === true || (verdict.result === 'accepted' && disposition.kind === 'quarantined');
}

function outcomeOf(verdict: Verdict): string {
  switch (verdict.kind) {
    case 'stored':
      return verdict.result;
    case 'refused':
      return verdict.code;
    case 'challenge':
    case 'aborted':
      return verdict.kind;
  }
}

function causeOf(verdict: Verdict): string | undefined {
  return verdict.kind === 'refused' ? verdict.cause : undefined;
}

function countCauses(metrics: Metrics, source: string, verdict: Verdict): void {
  if (verdict.kind === 'refused' && verdict.code === 'invalid_signature') {
    metrics.signatureRefusals.inc({ source, cause: verdict.cause ?? 'unknown' });
  }
  if (verdict.kind === 'stored' && verdict.otherBytes === true) metrics.derivedIdConflicts.inc({ source });
  if (verdict.kind === 'stored' && verdict.result === 'accepted') {
    const { disposition } = verdict.envelope;
    if (disposition.kind === 'quarantined') metrics.quarantines.inc({ source, reason: disposition.reason });
  }
}

function detailsOf(verdict: Verdict): object {
  if (verdict.kind === 'aborted' || verdict.kind === 'challenge') return {};
  if (verdict.kind === 'stored') {
    return { ...describeEvent(verdict.envelope), ...(verdict.otherBytes === true ? { otherBytes: true } : {}) };
  }
  const { envelope, ...facts } = verdict.facts;
  return { cause: verdict.cause, ...facts, ...(envelope === undefined ? {} : describeEvent(envelope)) };
}

function describeEvent({ scope, eventId, eventType, senderRequestId, disposition }: Envelope): object {
  const decided = disposition.kind === 'process' ? {} : { status: disposition.kind, reason: disposition.reason };
  return { scope, eventId, eventType, senderRequestId, ...decided };
}
