import type { CheckpointHook } from '../checkpoints.js';
import type { Config } from '../config/config.js';
import type { Logger } from '../observability/logger.js';

/** What every process of ours is given; nothing of it is global. */
export interface ProcessContext {
  readonly config: Config;
  /** For Temporal's own reader of `TEMPORAL_*`; everything else has been read by the configuration. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
  readonly checkpoints: CheckpointHook;
}
