import { request as requestPlain, type IncomingMessage } from 'node:http';
import { request as requestSecure } from 'node:https';

export interface JsonRequest {
  /** `http:` or `https:`; its user and password become Basic authentication. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

/**
 * - `connecting`, `securing`: nothing of the request has left this machine.
 * - `sent`: some or all of it may have arrived.
 */
export type HttpPhase = 'connecting' | 'securing' | 'sent';

export type HttpResult =
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfter: string | null }
  /** `errorCode` is Node's, `ABORTED` when the signal ended it, else `UNNAMED`. */
  | { readonly kind: 'failed'; readonly phase: HttpPhase; readonly errorCode: string };

/** The status decides; of the answer's body only so much is taken that the other side can end its work in peace. */
const MAX_ANSWER_BYTES = 65_536;
const MAX_ANSWER_MS = 1_000;

/**
 * One POST of JSON over a connection of its own, so that no kept connection can be found dead after the request was
 * written. Follows no redirect, sends nothing twice, never rejects.
 */
export function postJson({ url, headers, body, signal }: JsonRequest): Promise<HttpResult> {
  const isSecure = url.protocol === 'https:';
  return new Promise((resolve) => {
    let phase: HttpPhase = 'connecting';
    let isAnswered = false;
    const fail = (errorCode: string): void => {
      resolve({ kind: 'failed', phase, errorCode: signal.aborted ? 'ABORTED' : errorCode });
    };
    const request = (isSecure ? requestSecure : requestPlain)(url, {
      method: 'POST',
      agent: false,
      signal,
      headers: {
        'user-agent': 'oncehook',
        ...headers,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    });
    request.on('socket', (socket) => {
      socket.once('connect', () => {
        phase = isSecure ? 'securing' : 'sent';
      });
      socket.once('secureConnect', () => {
        phase = 'sent';
      });
    });
    request.on('response', (response) => {
      isAnswered = true;
      const answer = { status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] ?? null };
      drain(response, () => {
        resolve({ kind: 'answered', ...answer });
      });
    });
    request.on('error', (error: NodeJS.ErrnoException) => {
      // Once there is a status, what cuts the rest short changes nothing; the drain sees its end.
      if (!isAnswered) fail(error.code ?? 'UNNAMED');
    });
    // Not every end is an error: a switch of protocols that nobody asked for only closes.
    request.on('close', () => {
      if (!isAnswered) fail('UNNAMED');
    });
    request.end(body);
  });
}

function drain(response: IncomingMessage, done: () => void): void {
  let bytes = 0;
  const stop = (): void => {
    response.destroy();
  };
  const timer = setTimeout(stop, MAX_ANSWER_MS);
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) stop();
  });
  response.on('error', () => undefined);
  response.on('close', () => {
    clearTimeout(timer);
    done();
  });
}
