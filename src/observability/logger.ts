import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino';

export type Logger = PinoLogger;

/** Fields that may never reach a log line, wherever they stand in it; a belt beside not logging them at all. */
const REDACTED = [
  'secret',
  'secrets',
  'password',
  'authorization',
  'apiKey',
  'payload',
  'body',
  'DATABASE_URL',
  'SMTP_URL',
];

/**
 * One JSON line per thing that happened, IDs as fields, time in ISO 8601. Errors are logged by class and code only:
 * message texts of drivers and providers quote values.
 */
export function createLogger(level: string, name: string, destination?: DestinationStream): Logger {
  return pino(
    {
      level,
      base: { process: name, pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: [...REDACTED, ...REDACTED.map((path) => `*.${path}`)], censor: '[redacted]' },
      serializers: { err: describeError },
    },
    ...(destination === undefined ? [] : [destination]),
  );
}

/** Another's logger, held to the same: lines of ours never carry an error's text. */
export function withoutErrorTexts(log: Logger): Logger {
  return log.child({}, { serializers: { err: describeError } });
}

export interface ErrorDescription {
  readonly name: string;
  readonly code: string | null;
  /** Stack frames without the first line, which would repeat the message. */
  readonly frames: readonly string[];
}

/** What may be said of an error outside the database: class, code and place, never its text. */
function describeError(error: unknown): ErrorDescription {
  if (!(error instanceof Error)) return { name: typeof error, code: null, frames: [] };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : null;
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return { name: error.name, code, frames: frames.slice(0, 8).map((line) => line.trim()) };
}
