import type { IncomingMessage, ServerResponse } from 'node:http';

/** How long a sender may go on sending after our answer before the connection is cut, in milliseconds. */
const LINGER_MS = 1_000;

/**
 * Closes the connection after the answer, in a way that lets the answer arrive. Node destroys the socket as soon as
 * the answer is written; with bytes of the sender's still unread the kernel then sends a reset, which can overtake the
 * answer. So we finish our half, read and drop what still comes for a moment, and destroy the socket after that.
 */
export function closeAfterAnswer(req: IncomingMessage, res: ServerResponse): void {
  if (!res.headersSent) res.setHeader('Connection', 'close');
  req.resume();
  const { socket } = req;
  // Node's http server ends a connection through this method and gives no other hook (lib/_http_server.js).
  socket.destroySoon = () => {
    socket.end();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => {
      clearTimeout(timer);
    });
  };
}
