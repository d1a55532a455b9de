import { disposeByAge, ignored, isIgnoredType, type DispositionSettings } from './disposition.js';
import { isIdentifier } from './identifier.js';
import { isJsonObject, ownField, type JsonObject } from './json-object.js';
import { providerTime } from './provider-time.js';
import type { Disposition, Envelope, Source } from './source.js';
import { verifyStripeSignature } from './stripe-signature.js';

/** What the configuration says of a Stripe source, as far as receiving goes. */
export interface StripeSettings extends DispositionSettings {
  readonly name: string;
  /** The account whose endpoint this is. */
  readonly account: string;
  readonly mode: 'live' | 'test' | 'any';
  readonly tenant: string;
  /** Connected accounts by ID, each with its tenant. */
  readonly accounts: ReadonlyMap<string, string>;
}

/** A Stripe endpoint: snapshot events and thin events alike, told apart by nothing that matters here. */
export function stripeSource(settings: StripeSettings): Source {
  return {
    name: settings.name,
    verify: verifyStripeSignature,
    read: ({ payload }) => {
      const envelope = stripeEnvelope(settings, payload);
      return envelope === undefined ? undefined : { kind: 'event', envelope };
    },
  };
}

/**
 * Reads a verified event's identity and says what becomes of it. The scope is what the event says: its `account`, else
 * its `context`, else the configured account; `livemode`, else the configured mode, where `any` stands for `test`, so
 * that no event counts as live which does not say so.
 * @returns `undefined` when the body is no event: no object, or an ID, type, account or mode that is not one.
 */
function stripeEnvelope(settings: StripeSettings, payload: unknown): Envelope | undefined {
  if (!isJsonObject(payload)) return undefined;
  const eventId = ownField(payload, 'id');
  const eventType = ownField(payload, 'type');
  const account = ownField(payload, 'account') ?? ownField(payload, 'context') ?? settings.account;
  const livemode = ownField(payload, 'livemode') ?? settings.mode === 'live';
  if (!isIdentifier(eventId) || !isIdentifier(eventType) || !isIdentifier(account)) return undefined;
  if (typeof livemode !== 'boolean') return undefined;

  const mode = livemode ? 'live' : 'test';
  const tenant = account === settings.account ? settings.tenant : (settings.accounts.get(account) ?? null);
  const providerCreatedAt = providerTime(ownField(payload, 'created'));
  return {
    eventId,
    identity: 'signed',
    eventType,
    scope: `stripe:${account}:${mode}`,
    tenant,
    providerCreatedAt,
    senderRequestId: senderRequestId(payload),
    twinEventId: snapshotTwin(payload),
    disposition: disposition(settings, { eventType, mode, tenant, providerCreatedAt }),
  };
}

interface Judged {
  readonly eventType: string;
  readonly mode: 'live' | 'test';
  readonly tenant: string | null;
  readonly providerCreatedAt: string | null;
}

function disposition(settings: StripeSettings, event: Judged): Disposition {
  if (isIgnoredType(settings, event.eventType)) return ignored(null);
  if (settings.mode !== 'any' && event.mode !== settings.mode) {
    // A live Connect endpoint is sent its accounts' test events too (docs.stripe.com/connect/webhooks): no mistake.
    const expected = settings.mode === 'live' && settings.accounts.size > 0;
    return expected ? ignored('mode_mismatch') : { kind: 'quarantined', reason: 'mode_mismatch' };
  }
  if (event.tenant === null) return { kind: 'quarantined', reason: 'account_mismatch' };
  return disposeByAge(settings, event.providerCreatedAt);
}

/** `snapshot_event` of a thin event: the ID of the snapshot event that tells the same change (docs.stripe.com/event-destinations). */
function snapshotTwin(payload: JsonObject): string | null {
  const twin = ownField(payload, 'snapshot_event');
  return ownField(payload, 'object') === 'v2.core.event' && isIdentifier(twin) ? twin : null;
}

/** `request.id` of a snapshot event, `reason.request.id` of a thin one. */
function senderRequestId(payload: JsonObject): string | null {
  const reason = ownField(payload, 'reason');
  const request = ownField(payload, 'request') ?? (isJsonObject(reason) ? ownField(reason, 'request') : undefined);
  const id = isJsonObject(request) ? ownField(request, 'id') : undefined;
  return isIdentifier(id) ? id : null;
}
