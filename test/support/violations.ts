import type { Evidence, MailEvidence, OperationEvidence } from './evidence.js';

/**
 * What is wrong in a world in which every event pays a registered order, all faults are over, and enough time has
 * passed; empty when every promise was kept. Pure.
 */
export function violationsIn(evidence: Evidence): readonly string[] {
  return [
    ...answers(evidence),
    ...inbox(evidence),
    ...orders(evidence),
    ...operations(evidence),
    ...mails(evidence),
    ...runs(evidence),
  ];
}

/** Honest answers: a valid event gets a 2xx or a 503 with Retry-After, and is accepted at most once. */
function answers({ sent, deliveries }: Evidence): string[] {
  const dishonest = deliveries.filter(
    ({ status, retryAfter }) => status !== null && status !== 200 && !(status === 503 && retryAfter !== null),
  );
  const acceptedTwice = sent.filter(({ eventId }) => {
    return deliveries.filter((delivery) => delivery.eventId === eventId && delivery.said === 'accepted').length > 1;
  });
  return [
    ...dishonest.map(({ eventId, status }) => `${eventId} was answered with ${status}`),
    ...acceptedTwice.map(({ eventId }) => `${eventId} was accepted more than once`),
  ];
}

/** Durable, verified, live: each acknowledged event is one row with the bytes that were sent, and the row is done. */
function inbox({ sent, deliveries, inbox: rows }: Evidence): string[] {
  const found: string[] = [];
  for (const { eventId, sha256 } of sent) {
    const own = rows.filter((row) => row.eventId === eventId);
    const isAcknowledged = deliveries.some((delivery) => delivery.eventId === eventId && delivery.status === 200);
    if (isAcknowledged && own.length !== 1) found.push(`${eventId} was acknowledged and has ${own.length} rows`);
    if (own.some((row) => row.signedSha256 !== sha256)) found.push(`${eventId} was stored under other bytes`);
    if (own.some((row) => row.payloadSha256 !== sha256)) found.push(`${eventId} has another payload than was sent`);
  }
  for (const { eventId, status, outcome, reason } of rows) {
    if (!sent.some((event) => event.eventId === eventId)) found.push(`${eventId} was never sent`);
    if (status !== 'done') found.push(`${eventId} is ${status} (${reason})`);
    else if (outcome !== 'applied' && outcome !== 'duplicate') found.push(`${eventId} ended ${outcome} (${reason})`);
  }
  return found;
}

/** One business effect: an order whose event was stored is paid, in full, by one transition and one payment. */
function orders({ sent, inbox: rows, orders: all, transitions, payments }: Evidence): string[] {
  const paying = new Set(
    sent.filter(({ eventId }) => rows.some((row) => row.eventId === eventId)).map((e) => e.orderId),
  );
  const found: string[] = [];
  for (const { id, status, totalMinor, capturedMinor, holdReason } of all) {
    const own = transitions.filter(({ orderId }) => orderId === id);
    const bound = payments.filter(({ orderId }) => orderId === id);
    if (!paying.has(id)) {
      if (own.length + bound.length > 0) found.push(`${id} was touched and nobody paid it`);
      continue;
    }
    if (status !== 'paid' || holdReason !== null) found.push(`${id} is ${status} (${holdReason})`);
    if (capturedMinor !== totalMinor) found.push(`${id} has ${capturedMinor} of ${totalMinor} captured`);
    if (own.length !== 1) found.push(`${id} made ${own.length} transitions`);
    if (bound.length !== 1 || bound[0]?.role !== 'bound') found.push(`${id} has ${bound.length} payments`);
  }
  return found;
}

/** Matched: each paid order with an address has one confirmation, which was sent, or is listed as in doubt. */
function operations({ mail, orders: all, operations: rows }: Evidence): string[] {
  const found: string[] = [];
  for (const { id, status, customerEmail } of all) {
    const own = rows.filter(({ orderId }) => orderId === id);
    const wanted = status === 'paid' && customerEmail !== null ? 1 : 0;
    if (own.length !== wanted) found.push(`${id} has ${own.length} confirmations instead of ${wanted}`);
  }
  for (const operation of rows) {
    if (operation.status === 'confirmed' || (mail === 'hold' && isInDoubt(operation))) continue;
    found.push(`${operation.key} is ${operation.status} (${operation.lastError})`);
  }
  return found;
}

/** Mail: at least one copy (resend) or at most one (hold), all under one Message-ID with the same bytes. */
function mails({ mail, orders: all, operations: rows, mails: copies }: Evidence): string[] {
  const found: string[] = [];
  for (const copy of copies) {
    const operation = rows.find(({ messageId }) => messageId === copy.messageId);
    const customer = all.find(({ id }) => id === operation?.orderId)?.customerEmail;
    if (operation === undefined) found.push(`mail ${copy.messageId} belongs to no operation`);
    else if (copy.to.length !== 1 || copy.to[0] !== customer) found.push(`${operation.key} went to somebody else`);
  }
  for (const operation of rows) {
    const own = copies.filter(({ messageId }) => messageId === operation.messageId);
    if (operation.status === 'confirmed' && own.length === 0)
      found.push(`${operation.key} is confirmed and was not sent`);
    if (mail === 'hold' && own.length > 1) found.push(`${operation.key} was sent ${own.length} times under hold`);
    if (new Set(own.map(({ sha256 }: MailEvidence) => sha256)).size > 1) found.push(`${operation.key} has other bytes`);
  }
  return found;
}

/** Engine: nothing is open or failed. A terminated run is some test's own doing. */
function runs({ runs: all }: Evidence): string[] {
  return all
    .filter(({ status }) => status !== 'COMPLETED' && status !== 'TERMINATED')
    .map(({ workflowId, status }) => `run of ${workflowId} is ${status}`);
}

function isInDoubt({ status, lastError }: OperationEvidence): boolean {
  return status === 'parked' && lastError === 'outcome_unknown';
}
