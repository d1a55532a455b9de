import type { Challenge, EventIdPlace, EventTypePlace, HmacSignature } from '../domain/hmac-sender.js';
import type { Secret, SecretHolder } from './secret.js';
import type { SecretReference } from './secret-reference.js';
import type { SecretEncoding } from './secret-rules.js';

/**
 * The effective configuration: checked as a whole, defaults filled in, frozen to the bottom. Durations are
 * milliseconds and say so in their names. The only thing that may change in it is what a `SecretHolder` holds.
 */
export interface Config {
  /** Path of the file it came from; `null` without a file and for configuration given in code. */
  readonly file: string | null;
  /** By name, in configured order. */
  readonly sources: ReadonlyMap<string, SourceConfig>;
  readonly orders: OrdersConfig;
  readonly effects: EffectsConfig;
  readonly email: EmailConfig;
  /** `null` when nothing is pushed. The URL may hold a token, so it is kept like a secret. */
  readonly calendar: { readonly url: Secret | null } | null;
  /** Bound on all bodies in memory at once, in bytes. */
  readonly maxBodyMemory: number;
  readonly dispatch: {
    /** Workflow starts per second and worker; the sweeper uses half of it. */
    readonly startsPerSecond: number;
  };
  readonly retention: {
    /** How long payloads are kept, in milliseconds; 0 drops them when their event is done. */
    readonly payloadMs: number;
    /** How long inbox rows are kept after completion, in milliseconds. */
    readonly inboxMs: number;
  };
  readonly environment: EnvironmentConfig;
  /** What works and should be known: one sentence each, to be logged once at start. None quotes a secret. */
  readonly warnings: readonly string[];
}

export type SourceConfig = StripeSourceConfig | GithubSourceConfig | StandardWebhooksSourceConfig | HmacSourceConfig;

interface SourceBase {
  readonly name: string;
  readonly account: string;
  readonly tenant: string;
  /** Every secret that is valid now; never empty in a receiver or worker. */
  readonly secrets: SecretHolder;
  /** Where they stand, for `readSecrets`. */
  readonly secretReferences: readonly SecretReference[];
  /** Patterns of event types that are done on receipt; `*` stands for any characters. */
  readonly ignore: readonly string[];
  /** A handler set's name; `none` stores events and acts on none. */
  readonly handlers: string;
  /** Decide and record, do nothing. */
  readonly shadow: boolean;
  /** Events that happened before this are stored, not acted on. */
  readonly activeFrom: Date | undefined;
  /** What a 200 answers instead of its own body; `null` for the usual one. */
  readonly response: { readonly body: string; readonly contentType: string } | null;
  readonly maxBodyBytes: number;
}

export interface RateLimitConfig {
  readonly perSecond: number;
  /** How many may come at once after a pause. */
  readonly burst: number;
}

export interface StripeSourceConfig extends SourceBase {
  readonly kind: 'stripe';
  readonly mode: 'live' | 'test' | 'any';
  /** Connected accounts, each with its tenant. */
  readonly accounts: ReadonlyMap<string, string>;
  /** `null` when there is none, and always in a receiver, which does not need it. */
  readonly apiKey: Secret | null;
  /** Metadata that marks objects as ours in a shared account; `null` when all are. */
  readonly owns: { readonly metadata: ReadonlyMap<string, string> } | null;
  /** How far the signed time may lie from ours, in either direction, in milliseconds. */
  readonly toleranceMs: number;
  readonly rateLimit: RateLimitConfig | null;
}

/** What the same body under another ID is, where the ID is not signed. */
export type EqualBodies = 'suspicious' | 'normal';

export interface GithubSourceConfig extends SourceBase {
  readonly kind: 'github';
  readonly equalBodies: EqualBodies;
}

export interface StandardWebhooksSourceConfig extends SourceBase {
  readonly kind: 'standard-webhooks';
  readonly toleranceMs: number;
  readonly rateLimit: RateLimitConfig | null;
}

export interface HmacSourceConfig extends SourceBase {
  readonly kind: 'hmac';
  readonly secretEncoding: SecretEncoding;
  readonly signature: HmacSignature;
  readonly eventId: EventIdPlace;
  readonly eventType: EventTypePlace;
  readonly challenge: Challenge | null;
  /** `null` when the signature covers the ID. */
  readonly equalBodies: EqualBodies | null;
  /** `null` when the sender signs no time. */
  readonly toleranceMs: number | null;
  readonly rateLimit: RateLimitConfig | null;
}

export type OrderPolicy = 'refund' | 'quarantine';

export interface OrdersConfig {
  /** How long an event waits for an order that is not stored, in milliseconds. */
  readonly unknownOrderHorizonMs: number;
  readonly firstWaitMs: number;
  readonly maxWaitMs: number;
  readonly latePayment: OrderPolicy;
  readonly secondPayment: OrderPolicy;
  readonly overpaid: OrderPolicy;
}

/** Made by the run itself, after an operator's approval, or not at all. */
export type EffectModeConfig = 'auto' | 'propose' | 'off';

export interface EffectsConfig {
  readonly refund: {
    readonly mode: EffectModeConfig;
    /** In the smallest unit of the refund's currency. */
    readonly maxAmountMinor: number;
    readonly perHour: number;
  };
  readonly cancel_payment_intent: { readonly mode: EffectModeConfig; readonly perHour: number | null };
  readonly email: { readonly mode: EffectModeConfig; readonly perHour: number | null };
  /** An application's own kinds of operations, by name. */
  readonly own: Readonly<Record<string, OwnEffectConfig>>;
}

export interface OwnEffectConfig {
  readonly mode: EffectModeConfig;
  /** `null` for no cap; so for `perHour`. */
  readonly maxAmountMinor: number | null;
  readonly perHour: number | null;
}

/** At least once, at most once, or no mail. */
export type MailPolicy = 'resend' | 'hold' | 'off';

export interface EmailConfig {
  readonly orderPaid: MailPolicy;
  readonly refundSucceeded: MailPolicy;
  readonly refundFailed: MailPolicy;
  /** Address of the merchant; `null` when none is configured. */
  readonly merchant: string | null;
  /** Folder with one's own templates; `null` for the built-in ones. */
  readonly templates: string | null;
  readonly giveUpAfterMs: number;
}

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** What the environment says. An empty variable counts as unset. */
export interface EnvironmentConfig {
  /** A `postgres:` URL with a database name; ask `requireDatabaseUrl` where one is needed. */
  readonly databaseUrl: Secret | null;
  readonly host: string;
  /** 0 = any free port; so for `adminPort`. */
  readonly port: number;
  readonly adminHost: string;
  readonly adminPort: number;
  readonly adminToken: Secret | null;
  readonly logLevel: LogLevel;
  /** Scheme, host and port of a stand-in for Stripe's API; `null` for the real one. */
  readonly stripeApiBase: string | null;
  /** An `smtp:` or `smtps:` URL. */
  readonly smtpUrl: Secret | null;
  readonly emailFrom: Mailbox | null;
  readonly temporalTaskQueue: string;
  /** Where the local stack keeps its data; relative to the working directory. */
  readonly devDir: string;
  readonly production: boolean;
  /** `name:mode` for `parseCheckpoint`; always `null` in production. */
  readonly checkpoint: string | null;
}

export interface Mailbox {
  readonly address: string;
  /** Display name; `null` without one. */
  readonly name: string | null;
}
