import type { Client } from '@temporalio/client';
import type { Logger } from '../observability/logger.js';
import { hasSearchAttributes, howToAddSearchAttributes } from './search-attribute-keys.js';

const INTERVAL_MS = 30_000;
const DEADLINE_MS = 3_000;

export interface SearchAttributesWatch {
  /** Whether the namespace knew all of them at the last look; false until the first answer. */
  readonly known: () => boolean;
  readonly stop: () => Promise<void>;
}

/** Looks now and then, so that attributes added later are used without a restart; says once how to add them. */
export function watchSearchAttributes(client: Client, namespace: string, log: Logger): SearchAttributesWatch {
  let known = false;
  let said = false;
  const look = async (): Promise<void> => {
    try {
      known = await client.withDeadline(Date.now() + DEADLINE_MS, () => hasSearchAttributes(client, namespace));
    } catch (error) {
      log.debug({ err: error }, 'could not ask for search attributes');
      return;
    }
    if (known || said) return;
    said = true;
    log.warn(
      { command: howToAddSearchAttributes(namespace) },
      'this namespace lacks search attributes; going on without',
    );
  };
  let looking = look();
  const timer = setInterval(() => {
    looking = look();
  }, INTERVAL_MS);
  return {
    known: () => known,
    stop: async () => {
      clearInterval(timer);
      await looking;
    },
  };
}
