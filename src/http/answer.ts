import type { IncomingMessage, ServerResponse } from 'node:http';

/** An answer, whatever server gives it. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** A text whose type is fixed: no browser may guess another, no cache may keep it. */
export function textAnswer(
  status: number,
  contentType: string,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return {
    status,
    headers: {
      ...headers,
      'Content-Type': contentType,
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
    },
    text,
  };
}

export function sendAnswer(req: IncomingMessage, res: ServerResponse, { status, headers, text }: Answer): void {
  res.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(text) });
  res.end(req.method === 'HEAD' ? undefined : text);
}

export function sendText(
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  contentType: string,
  text: string,
): void {
  sendAnswer(req, res, textAnswer(status, contentType, text));
}
