import { buildSource } from './build-source.js';
import type { Config, EffectsConfig, EmailConfig, EnvironmentConfig, OrdersConfig } from './config.js';
import { DEFAULTS, defaultMs } from './defaults.js';
import type { CheckedDocument } from './document-schema.js';
import { deepFreeze, frozenMap } from './freeze.js';
import type { Secret } from './secret.js';
import type { SourceValues } from './source-values.js';

export interface BuildInput {
  readonly document: CheckedDocument;
  readonly file: string | null;
  readonly values: ReadonlyMap<string, SourceValues>;
  readonly merchant: string | null;
  readonly calendarUrl: Secret | null;
  readonly environment: EnvironmentConfig;
  readonly warnings: readonly string[];
}

/** Fills in the defaults and freezes. Everything has been checked before; nothing here can fail. */
export function buildConfig(input: BuildInput): Config {
  const { document, file, values, merchant, calendarUrl, environment, warnings } = input;
  const sources = Object.entries(document.sources).map(
    ([name, source]) => [name, buildSource(name, source, values.get(name))] as const,
  );
  return deepFreeze({
    file,
    sources: frozenMap(sources),
    orders: buildOrders(document.orders ?? {}),
    effects: buildEffects(document.effects ?? {}),
    email: buildEmail(document.email ?? {}, merchant),
    calendar: document.calendar === undefined ? null : { url: calendarUrl },
    maxBodyMemory: document.maxBodyMemory ?? DEFAULTS.maxBodyMemory,
    dispatch: { startsPerSecond: document.dispatch?.startsPerSecond ?? DEFAULTS.dispatch.startsPerSecond },
    retention: {
      payloadMs: document.retention?.payload ?? defaultMs(DEFAULTS.retention.payload),
      inboxMs: document.retention?.inbox ?? defaultMs(DEFAULTS.retention.inbox),
    },
    environment,
    warnings,
  });
}

function buildOrders(orders: NonNullable<CheckedDocument['orders']>): OrdersConfig {
  return {
    unknownOrderHorizonMs: orders.unknownOrderHorizon ?? defaultMs(DEFAULTS.orders.unknownOrderHorizon),
    firstWaitMs: orders.firstWait ?? defaultMs(DEFAULTS.orders.firstWait),
    maxWaitMs: orders.maxWait ?? defaultMs(DEFAULTS.orders.maxWait),
    latePayment: orders.latePayment ?? DEFAULTS.orders.latePayment,
    secondPayment: orders.secondPayment ?? DEFAULTS.orders.secondPayment,
    overpaid: orders.overpaid ?? DEFAULTS.orders.overpaid,
  };
}

function buildEmail(email: NonNullable<CheckedDocument['email']>, merchant: string | null): EmailConfig {
  return {
    orderPaid: email.orderPaid ?? DEFAULTS.email.orderPaid,
    refundSucceeded: email.refundSucceeded ?? DEFAULTS.email.refundSucceeded,
    refundFailed: email.refundFailed ?? DEFAULTS.email.refundFailed,
    merchant,
    templates: email.templates ?? null,
    giveUpAfterMs: email.giveUpAfter ?? defaultMs(DEFAULTS.email.giveUpAfter),
  };
}

function buildEffects(effects: NonNullable<CheckedDocument['effects']>): EffectsConfig {
  const { refund, email, cancel_payment_intent: cancel, ...own } = effects;
  return {
    refund: {
      mode: refund?.mode ?? DEFAULTS.effects.refund.mode,
      maxAmountMinor: refund?.maxAmountMinor ?? DEFAULTS.effects.refund.maxAmountMinor,
      perHour: refund?.perHour ?? DEFAULTS.effects.refund.perHour,
    },
    cancel_payment_intent: {
      mode: cancel?.mode ?? DEFAULTS.effects.cancel_payment_intent.mode,
      perHour: cancel?.perHour ?? null,
    },
    email: { mode: email?.mode ?? DEFAULTS.effects.email.mode, perHour: email?.perHour ?? null },
    own: Object.fromEntries(
      Object.entries(own).map(([kind, { mode = 'auto', maxAmountMinor = null, perHour = null }]) => [
        kind,
        { mode, maxAmountMinor, perHour },
      ]),
    ),
  };
}
