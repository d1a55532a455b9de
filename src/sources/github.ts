import { dispose, ignored, type DispositionSettings } from './disposition.js';
import { formField, isForm } from './form-body.js';
import { verifyGithubSignature } from './github-signature.js';
import { isIdentifier, isUnsignedIdentifier } from './identifier.js';
import { isJsonObject, ownField } from './json-object.js';
import { oneHeader } from './one-header.js';
import type { DistinctHeaders, Reading, ReadingInput, Source } from './source.js';

/** What the configuration says of a GitHub webhook, as far as receiving goes. */
export interface GithubSettings extends DispositionSettings {
  readonly name: string;
  readonly account: string;
  readonly tenant: string;
  /** What the same bytes under another delivery ID are. */
  readonly equalBodies: 'suspicious' | 'normal';
}

/** A GitHub webhook of either content type (docs.github.com, "Webhook events and payloads"). */
export function githubSource(settings: GithubSettings): Source {
  return {
    name: settings.name,
    verify: verifyGithubSignature,
    unwrap: (headers, body) => (isForm(headers) ? formField(body, 'payload') : body),
    read: (input) => readDelivery(settings, input),
  };
}

/** ID and event come in headers that nobody signs; the action, and with it the second half of the type, is signed. */
function readDelivery(settings: GithubSettings, { headers, payload }: ReadingInput): Reading | undefined {
  const eventId = headerValue(headers, 'x-github-delivery');
  const event = headerValue(headers, 'x-github-event');
  if (!isUnsignedIdentifier(eventId) || !isIdentifier(event) || !isJsonObject(payload)) return undefined;
  const action = ownField(payload, 'action');
  const eventType = typeof action === 'string' ? `${event}.${action}` : event;
  if (!isIdentifier(eventType)) return undefined;
  const providerCreatedAt = null; // GitHub names no time of the delivery; those in the payload are its objects' own
  return {
    kind: 'event',
    envelope: {
      eventId,
      identity: settings.equalBodies === 'suspicious' ? 'unsigned' : 'unsigned_repeatable',
      eventType,
      scope: `github:${settings.account}`,
      tenant: settings.tenant,
      providerCreatedAt,
      senderRequestId: null,
      twinEventId: null,
      // Sent once when a hook is made, to see whether anybody is there.
      disposition: event === 'ping' ? ignored(null) : dispose(settings, { eventType, providerCreatedAt }),
    },
  };
}

function headerValue(headers: DistinctHeaders, name: string): string | undefined {
  const header = oneHeader(headers, name);
  return typeof header === 'string' ? undefined : header.value;
}
