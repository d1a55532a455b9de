import { CheckpointError, ConfigError } from './errors.js';

/**
 * Named crash points on the way of one event, in the order in which an event meets them. Tests make a real process
 * die, fail, hang or dawdle exactly there; in production the hook is inert and the variable is refused.
 */
export const CHECKPOINT_NAMES = [
  'receiver.body-read',
  'receiver.before-insert',
  'receiver.after-commit',
  'receiver.after-answer',
  'dispatch.before-start',
  'dispatch.after-start',
  'sweeper.after-claim',
  'apply.in-transaction',
  'apply.before-commit',
  'apply.after-commit',
  'operation.before-intent',
  'operation.intent-stored',
  'operation.answered',
  'operation.answer-stored',
] as const;

export type CheckpointName = (typeof CHECKPOINT_NAMES)[number];

export const CHECKPOINT_MODES = ['kill', 'error', 'hang', 'delay'] as const;
export type CheckpointMode = (typeof CHECKPOINT_MODES)[number];

/** Called at each named point. The default does nothing. */
export type CheckpointHook = (name: CheckpointName) => Promise<void>;

export const inertCheckpoints: CheckpointHook = () => Promise.resolve();

export interface CheckpointSetting {
  readonly name: CheckpointName;
  readonly mode: CheckpointMode;
}

/** How long `delay` holds an event at its point, in milliseconds. */
const DELAY_MS = 3_000;

/**
 * Reads `name:mode` as `ONCEHOOK_CHECKPOINT` gives it.
 * @throws ConfigError naming the legal values when either half is unknown.
 */
export function parseCheckpoint(text: string): CheckpointSetting {
  const [name, mode, ...rest] = text.split(':');
  const knownName = CHECKPOINT_NAMES.find((candidate) => candidate === name);
  const knownMode = CHECKPOINT_MODES.find((candidate) => candidate === mode);
  if (knownName === undefined || knownMode === undefined || rest.length > 0) {
    throw new ConfigError([
      `ONCEHOOK_CHECKPOINT must be name:mode with a name of ${CHECKPOINT_NAMES.join(', ')} and a mode of ${CHECKPOINT_MODES.join(', ')}`,
    ]);
  }
  return { name: knownName, mode: knownMode };
}

/**
 * The hook for crash tests: fires once, at the first arrival at its point; later arrivals pass.
 * @param announce told just before it fires.
 */
export function createCheckpoints(
  setting: CheckpointSetting | undefined,
  announce: (setting: CheckpointSetting) => void,
): CheckpointHook {
  if (setting === undefined) return inertCheckpoints;
  let fired = false;
  return async (name) => {
    if (fired || name !== setting.name) return;
    fired = true;
    announce(setting);
    await fire(setting);
  };
}

async function fire({ name, mode }: CheckpointSetting): Promise<void> {
  switch (mode) {
    case 'kill':
      // A signal that cannot be handled: no exit hook, no flush, as a lost machine would do it.
      process.kill(process.pid, 'SIGKILL');
      return new Promise(() => undefined);
    case 'error':
      throw new CheckpointError(`checkpoint ${name}`);
    case 'hang':
      return new Promise(() => undefined);
    case 'delay':
      return new Promise((resolve) => setTimeout(resolve, DELAY_MS));
  }
}
