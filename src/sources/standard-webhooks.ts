import { dispose, type DispositionSettings } from './disposition.js';
import { isIdentifier } from './identifier.js';
import { isJsonObject, ownField } from './json-object.js';
import { providerTime } from './provider-time.js';
import type { Reading, ReadingInput, Source } from './source.js';
import { readStandardHeaders, verifyStandardWebhooks } from './standard-webhooks-signature.js';

/** What the configuration says of a sender that follows Standard Webhooks, as far as receiving goes. */
export interface StandardWebhooksSettings extends DispositionSettings {
  readonly name: string;
  readonly account: string;
  readonly tenant: string;
}

/** A sender by the Standard Webhooks specification, also under the header names of Svix. */
export function standardWebhooksSource(settings: StandardWebhooksSettings): Source {
  return {
    name: settings.name,
    verify: verifyStandardWebhooks,
    read: (input) => readMessage(settings, input),
  };
}

/** The ID is the header's, which is signed and stays the same on retries; the type is the payload's. */
function readMessage(settings: StandardWebhooksSettings, { headers, payload }: ReadingInput): Reading | undefined {
  const read = readStandardHeaders(headers);
  if (typeof read === 'string' || !isJsonObject(payload)) return undefined;
  const eventType = ownField(payload, 'type');
  if (!isIdentifier(eventType)) return undefined;
  // Of the event, by the specification; the header's time is the delivery's.
  const providerCreatedAt = providerTime(ownField(payload, 'timestamp'));
  return {
    kind: 'event',
    envelope: {
      eventId: read.id,
      identity: 'signed',
      eventType,
      scope: `standard-webhooks:${settings.account}`,
      tenant: settings.tenant,
      providerCreatedAt,
      senderRequestId: null,
      twinEventId: null,
      disposition: dispose(settings, { eventType, providerCreatedAt }),
    },
  };
}
