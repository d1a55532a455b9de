import { growingBuffer, type ReadBody, type ReadBodyOptions } from './read-body.js';

/**
 * Reads a web-standard request's body to its end, or stops at the first byte too many. Never rejects.
 */
export async function readRequestBody(request: Request, options: ReadBodyOptions): Promise<ReadBody> {
  if (request.bodyUsed || request.body?.locked === true) return { ok: false, cause: 'already_read' };
  if (request.body === null) return { ok: true, body: Buffer.alloc(0) };
  const reader = request.body.getReader();
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<ReadBody>((resolve) => {
    timer = setTimeout(resolve, options.deadlineMs, { ok: false, cause: 'timeout' });
  });
  const result = await Promise.race([readToEnd(reader, options), deadline]);
  clearTimeout(timer);
  // Nobody waits for the rest; whether the server hears of it is its own matter.
  if (!result.ok) reader.cancel().catch(() => undefined);
  return result;
}

async function readToEnd(reader: ReadableStreamDefaultReader<Uint8Array>, options: ReadBodyOptions): Promise<ReadBody> {
  const buffer = growingBuffer(options, undefined);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { ok: true, body: buffer.content() };
      const refusal = buffer.append(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
      if (refusal !== undefined) return { ok: false, cause: refusal };
    }
  } catch {
    return { ok: false, cause: 'aborted' };
  }
}
