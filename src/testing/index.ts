/** For tests of one's own handlers, with any test runner; see docs/testing.md. */
export { openWebhookBench } from './bench.js';
export type { EventResult, WebhookBench, WebhookBenchOptions } from './bench.js';
export type { OperationView } from './processing.js';
export { openScratchDatabase } from './scratch-database.js';
export type { ScratchDatabase, ScratchDatabaseOptions, TestDatabase } from './scratch-database.js';
export type { DeliverableEvent, TestEvent } from './test-event.js';
export { stripeEvent } from './stripe-event.js';
export type { StripeEnvelope } from './stripe-event.js';
export { githubDelivery, hmacDelivery, standardWebhooksDelivery, stripeDelivery } from './deliveries.js';
export type {
  DeliveryBody,
  DeliveryOptions,
  HmacDeliveryOptions,
  NamedDeliveryOptions,
  SignedDelivery,
} from './deliveries.js';
export { duplicates, permutations } from './sequences.js';
export type { DeliveryKind, Sequence, SequenceDelivery } from './sequences.js';
export { webhookMatchers } from './matchers.js';
export type { MatcherResult, WebhookMatchers } from './matchers.js';
export { defineProof } from './proof.js';
export type { Proof, ProofAspect } from './proof.js';
