import type { EventIdPlace, EventTypePlace, HmacSignature } from '../domain/hmac-sender.js';
import type { HmacSourceConfig, RateLimitConfig, SourceConfig } from './config.js';
import { DEFAULTS, defaultMs } from './defaults.js';
import type { CheckedSource } from './document-schema.js';
import { frozenMap } from './freeze.js';
import { SecretHolder } from './secret.js';
import { accountOf, handlersOf, maxBodyBytesOf, signedTemplateOf, signsId } from './source-defaults.js';
import type { SourceValues } from './source-values.js';

const NO_VALUES: SourceValues = { references: [], secrets: [], apiKey: null };

/** One source with its defaults and what its references stand for. */
export function buildSource(name: string, source: CheckedSource, values: SourceValues = NO_VALUES): SourceConfig {
  const named = { ...source, name };
  const base = {
    name,
    account: accountOf(named),
    tenant: source.tenant ?? DEFAULTS.source.tenant,
    secrets: new SecretHolder(values.secrets),
    secretReferences: values.references,
    ignore: source.ignore ?? [],
    handlers: handlersOf(source),
    shadow: source.shadow ?? false,
    activeFrom: source.activeFrom,
    response: source.response === undefined ? null : buildResponse(source.response),
    maxBodyBytes: maxBodyBytesOf(source),
  };
  const toleranceMs = defaultMs(DEFAULTS.source.tolerance);
  switch (source.kind) {
    case 'stripe':
      return {
        ...base,
        kind: source.kind,
        mode: source.mode ?? DEFAULTS.source.mode,
        accounts: frozenMap(Object.entries(source.accounts ?? {})),
        apiKey: values.apiKey,
        owns: source.owns === undefined ? null : { metadata: frozenMap(Object.entries(source.owns.metadata)) },
        toleranceMs: source.tolerance ?? toleranceMs,
        rateLimit: buildRateLimit(source.rateLimit),
      };
    case 'github':
      return { ...base, kind: source.kind, equalBodies: source.equalBodies ?? DEFAULTS.source.equalBodies };
    case 'standard-webhooks':
      return {
        ...base,
        kind: source.kind,
        toleranceMs: source.tolerance ?? toleranceMs,
        rateLimit: buildRateLimit(source.rateLimit),
      };
    case 'hmac':
      return { ...base, ...buildHmac(source), rateLimit: buildRateLimit(source.rateLimit) };
  }
}

function buildResponse(response: NonNullable<CheckedSource['response']>): NonNullable<SourceConfig['response']> {
  return { body: response.body, contentType: response.contentType ?? DEFAULTS.source.contentType };
}

type HmacSource = Extract<CheckedSource, { kind: 'hmac' }>;

function buildHmac(source: HmacSource) {
  const signature = buildSignature(source);
  return {
    kind: source.kind,
    secretEncoding: source.secretEncoding ?? DEFAULTS.source.secretEncoding,
    signature,
    eventId: buildEventId(source.eventId),
    eventType: buildEventType(source.eventType),
    challenge: source.challenge ?? null,
    equalBodies: signsId(source) ? null : (source.equalBodies ?? DEFAULTS.source.equalBodies),
    toleranceMs: signature.timestamp === null ? null : (source.tolerance ?? defaultMs(DEFAULTS.source.tolerance)),
  } satisfies Partial<HmacSourceConfig>;
}

function buildSignature(source: HmacSource): HmacSignature {
  const { header, algorithm, encoding, prefix, timestamp, fields } = source.signature;
  return {
    header,
    algorithm: algorithm ?? 'sha256',
    encoding: encoding ?? 'hex',
    prefix: prefix ?? '',
    signed: signedTemplateOf(source),
    timestamp: buildTimestamp(timestamp, fields?.timestamp),
    fields: fields === undefined ? null : { separator: fields.separator, signature: fields.signature },
  };
}

function buildTimestamp(
  timestamp: HmacSource['signature']['timestamp'],
  field: string | undefined,
): HmacSignature['timestamp'] {
  if (timestamp !== undefined) return { kind: 'header', header: timestamp.header, unit: timestamp.unit ?? 's' };
  return field === undefined ? null : { kind: 'field', field, unit: 's' };
}

function buildEventId(eventId: HmacSource['eventId']): EventIdPlace {
  if ('header' in eventId) return { kind: 'header', header: eventId.header };
  if ('body' in eventId) return { kind: 'body', pointer: eventId.body, type: eventId.type ?? 'string' };
  return { kind: 'derived', pointers: eventId.derived };
}

function buildEventType(eventType: HmacSource['eventType']): EventTypePlace {
  return 'header' in eventType
    ? { kind: 'header', header: eventType.header }
    : { kind: 'body', pointer: eventType.body };
}

function buildRateLimit(limit: { perSecond: number; burst?: number | undefined } | undefined): RateLimitConfig | null {
  return limit === undefined ? null : { perSecond: limit.perSecond, burst: limit.burst ?? limit.perSecond };
}
