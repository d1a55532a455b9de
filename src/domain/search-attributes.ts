/** Names of the search attributes that oncehook sets where the cluster knows them; all of type Keyword. */
export const SEARCH_ATTRIBUTES = {
  scope: 'WebhookScope',
  eventType: 'WebhookEventType',
  status: 'WebhookStatus',
  orderId: 'OrderId',
} as const;

/** SQL visibility stores keywords in 255 bytes; a longer value would fail the whole write, so it is left out. */
const MAX_VALUE_BYTES = 255;

export function fitsSearchAttribute(value: string): boolean {
  return new TextEncoder().encode(value).length <= MAX_VALUE_BYTES;
}
