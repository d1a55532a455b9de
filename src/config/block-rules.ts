import { DEFAULTS, defaultMs } from './defaults.js';
import type { Draft } from './draft.js';
import { formatDuration } from './duration.js';
import { inDocument, type Findings, type Problem } from './problem.js';

/** Stripe can be asked for events of 30 days, and resends them; a key must be remembered longer than that. */
const SHORTEST_INBOX_MS = 31 * 86_400_000;

/** What must hold between the fields of the other blocks. */
export function checkBlocks(draft: Draft): Findings {
  return { problems: [...waitProblems(draft), ...retentionProblems(draft)], warnings: [] };
}

function waitProblems({ orders, isSound }: Draft): Problem[] {
  if (!isSound(['orders'])) return [];
  const firstWait = orders.firstWait ?? defaultMs(DEFAULTS.orders.firstWait);
  const maxWait = orders.maxWait ?? defaultMs(DEFAULTS.orders.maxWait);
  if (firstWait <= maxWait) return [];
  return [inDocument(['orders', 'firstWait'], `is longer than maxWait (${formatDuration(maxWait)})`)];
}

function retentionProblems({ retention, isSound }: Draft): Problem[] {
  if (!isSound(['retention'])) return [];
  const inbox = retention.inbox ?? defaultMs(DEFAULTS.retention.inbox);
  const payload = retention.payload ?? defaultMs(DEFAULTS.retention.payload);
  if (inbox < SHORTEST_INBOX_MS) {
    return [inDocument(['retention', 'inbox'], 'must be at least 31d: a resend after it would count as new')];
  }
  if (payload <= inbox) return [];
  return [inDocument(['retention', 'payload'], `is longer than inbox (${formatDuration(inbox)})`)];
}
