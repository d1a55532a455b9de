import { subscribe, unsubscribe } from 'node:diagnostics_channel';

/** What Node tells of connections and requests that its own modules make, and undici's of `fetch`. */
const CHANNELS = ['undici:request:create', 'http.client.request.start', 'net.client.socket'] as const;

/** What is told of a connection, whose other end is not known yet. */
export const A_CONNECTION = 'a connection';

/**
 * Tells of every outgoing request and new connection of this process, in the context of the code that made it. What uses
 * neither (another protocol over an open connection, a child process, a native module) is not seen.
 * @returns stops that
 */
export function watchOutsideCalls(seen: (call: string) => void): () => void {
  const listeners = CHANNELS.map((channel) => ({
    channel,
    listener: (message: unknown) => {
      seen(describe(channel, message));
    },
  }));
  for (const { channel, listener } of listeners) subscribe(channel, listener);
  return () => {
    for (const { channel, listener } of listeners) unsubscribe(channel, listener);
  };
}

/** The channels' messages are not part of Node's types; only texts are read, and none is needed. */
function describe(channel: (typeof CHANNELS)[number], message: unknown): string {
  const request = fieldOf(message, 'request');
  switch (channel) {
    case 'undici:request:create':
      return `${textOf(request, 'method')} ${textOf(request, 'origin')}${textOf(request, 'path')}`;
    case 'http.client.request.start':
      return `${textOf(request, 'method')} ${textOf(request, 'host')}${textOf(request, 'path')}`;
    case 'net.client.socket':
      return A_CONNECTION;
  }
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (Reflect.get(value, name) as unknown) : undefined;
}

function textOf(value: unknown, name: string): string {
  const text = fieldOf(value, name);
  if (typeof text === 'string') return text;
  return text instanceof URL ? text.origin : '';
}
