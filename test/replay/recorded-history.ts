import { readFileSync } from 'node:fs';

/** Where the histories lie: one file a version and scene. */
export const HISTORIES = new URL('../fixtures/histories/', import.meta.url);

/** The version whose histories the recorder writes. */
export const VERSION = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
).version;

export interface RecordedHistory {
  readonly workflowId: string;
  readonly history: unknown;
}

/** The ways of a run that differ for replay. */
export const SCENES = ['applied', 'duplicate', 'waited-then-applied', 'waiting', 'quarantined-and-waiting',
  'quarantined-then-replayed', 'discarded', 'defects-then-quarantined'] as const; // prettier-ignore
