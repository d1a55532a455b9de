/**
 * Every error class that oncehook throws. Each carries a stable `code` for programs and a sentence for people;
 * translation to HTTP happens in src/http/problem.ts, to Temporal in activities/failures.ts, nowhere else.
 */
export abstract class OncehookError extends Error {
  /** Stable, lower snake case; never changes for one meaning. */
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The configuration cannot be used. All problems found are listed at once; none of them quotes a secret. */
export class ConfigError extends OncehookError {
  readonly code = 'config_invalid';

  constructor(readonly problems: readonly string[]) {
    super(
      `The configuration has ${problems.length} problem${problems.length === 1 ? '' : 's'}:\n- ${problems.join('\n- ')}`,
    );
  }
}

/** The database is not one that oncehook can promise anything on (too old, not UTF-8, read-only, schema behind). */
export class DatabaseUnusableError extends OncehookError {
  readonly code = 'database_unusable';
}

/** A wait of our own ran out (pool checkout, insert, provider call); says nothing about what the other side did. */
export class DeadlineError extends OncehookError {
  readonly code = 'deadline_exceeded';
}

/** A handler did something that no retry can mend: threw, hung, or answered outside the closed union. */
export class HandlerDefectError extends OncehookError {
  readonly code: 'handler_threw' | 'handler_timeout' | 'handler_nonsense';

  constructor(code: HandlerDefectError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** A crash-test checkpoint in mode `error` fired; never seen in production, where checkpoints are refused. */
export class CheckpointError extends OncehookError {
  readonly code = 'checkpoint';
}

/** What an operator asked for cannot be found or done; the sentence says what to do instead. */
export class CommandError extends OncehookError {
  readonly code: 'not_found' | 'failed' | 'usage' | 'interrupted' | 'terminated';

  constructor(code: CommandError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The local stack could not do a step. The message is one line for a person and ends with what to do next. */
export class DevStackError extends OncehookError {
  readonly code = 'dev_stack';
}
