import type { IncomingMessage } from 'node:http';
import type { DistinctHeaders } from '../sources/source.js';
import type { BodyReservation } from './body-memory.js';

export interface ReadBodyOptions {
  readonly maxBytes: number;
  readonly deadlineMs: number;
  readonly reservation: BodyReservation;
}

export type ReadBody =
  | { readonly ok: true; readonly body: Buffer }
  | {
      readonly ok: false;
      readonly cause:
        | 'too_large'
        | 'timeout'
        | 'out_of_memory'
        /** The connection ended before the body did; there is nobody to answer. */
        | 'aborted'
        /** Something before us has read the stream: the bytes that were signed are gone. */
        | 'already_read';
    };

const FIRST_CAPACITY = 16 * 1024;

/**
 * Reads a body to its end, or stops at the first byte too many. The bytes are copied into one buffer that doubles, not
 * kept as chunks: a body sent byte by byte would cost a hundred times its size in objects. What counts against the
 * memory bound is the buffer's capacity. Never throws; whatever the result, no listener of ours stays on the request.
 */
export async function readBody(req: IncomingMessage, options: ReadBodyOptions): Promise<ReadBody> {
  if (req.readableDidRead || req.readableEnded) return { ok: false, cause: 'already_read' };
  if (req.destroyed) return { ok: false, cause: 'aborted' };
  return new Promise((resolve) => {
    const buffer = growingBuffer(options, declaredLength(req.headersDistinct));
    const finish = (result: ReadBody): void => {
      clearTimeout(timer);
      req.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      // A late error of a request that nobody listens to any more must not end the process.
      req.on('error', () => undefined);
      if (!result.ok) req.pause();
      resolve(result);
    };
    const onData = (chunk: Buffer): void => {
      const refusal = buffer.append(chunk);
      if (refusal !== undefined) finish({ ok: false, cause: refusal });
    };
    const onEnd = (): void => {
      finish({ ok: true, body: buffer.content() });
    };
    const onClose = (): void => {
      finish({ ok: false, cause: 'aborted' });
    };
    const timer = setTimeout(() => {
      finish({ ok: false, cause: 'timeout' });
    }, options.deadlineMs);
    req.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}

/** The length that a request names, when it names one. */
export function declaredLength(headers: DistinctHeaders): number | undefined {
  const [header] = headers['content-length'] ?? [];
  return header !== undefined && /^[0-9]+$/.test(header) ? Number(header) : undefined;
}

/** Takes what comes into one buffer that doubles, within the limit and the memory bound. */
export function growingBuffer(
  { maxBytes, reservation }: ReadBodyOptions,
  declared: number | undefined,
): { append(chunk: Buffer): 'too_large' | 'out_of_memory' | undefined; content(): Buffer } {
  const ceiling = Math.min(declared ?? maxBytes, maxBytes);
  let buffer = Buffer.alloc(0);
  let length = 0;
  return {
    append: (chunk) => {
      const needed = length + chunk.length;
      if (needed > maxBytes) return 'too_large';
      if (needed > buffer.length) {
        const capacity = Math.max(needed, Math.min(ceiling, Math.max(buffer.length * 2, FIRST_CAPACITY)));
        if (!reservation.growTo(capacity)) return 'out_of_memory';
        const larger = Buffer.allocUnsafe(capacity);
        buffer.copy(larger, 0, 0, length);
        buffer = larger;
      }
      chunk.copy(buffer, length);
      length = needed;
      return undefined;
    },
    content: () => buffer.subarray(0, length),
  };
}
