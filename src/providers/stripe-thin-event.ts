import { z } from 'zod';
import type { FetchReference } from '../domain/outcome.js';

/** A thin event of a v1 resource: what happened, and to which object; never the object itself. */
export interface ThinEvent {
  /** The type of the snapshot event that tells the same, which is what handlers are registered under. */
  readonly snapshotType: string;
  readonly related: FetchReference;
  /** The same event with the fetched object in it, in the shape of a snapshot event. */
  readonly withObject: (object: unknown) => unknown;
}

/** docs.stripe.com/event-destinations, "Thin events". Its URL is not read: what to fetch follows from type and ID alone. */
const thinEvent = z.object({
  id: z.string(),
  object: z.literal('v2.core.event'),
  type: z.string().startsWith('v1.'),
  created: z.string(),
  livemode: z.boolean().optional(),
  related_object: z.object({ id: z.string().min(1).max(255), type: z.string().min(1).max(255) }),
});

/** @returns `undefined` for a snapshot event, for events of v2 resources, and for those about no object. */
export function readThinEvent(payload: unknown): ThinEvent | undefined {
  const parsed = thinEvent.safeParse(payload);
  if (!parsed.success) return undefined;
  const { id, type, created, livemode, related_object: related } = parsed.data;
  const snapshotType = type.slice('v1.'.length);
  return {
    snapshotType,
    related: { type: related.type, id: related.id },
    withObject: (object) => ({
      id,
      object: 'event',
      type: snapshotType,
      created: Math.floor(Date.parse(created) / 1000),
      livemode,
      data: { object },
    }),
  };
}
