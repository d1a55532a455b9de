// Sends requests over many connections, each as soon as the last was answered, in a process of its own: what it costs
// to make them must not make somebody else's request late. Told by its parent what to send, for how long and where;
// tells it what came back.
import { connect } from 'node:net';

process.once('message', ({ port, connections, seconds, requests }) => {
  const bytes = requests.map((request) => Buffer.from(request, 'base64'));
  const until = performance.now() + seconds * 1000;
  const statuses = {};
  let broken = 0;
  let slowestMs = 0;
  let sent = 0;
  let open = connections;

  const drive = () => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    let sentAt = 0;
    const next = () => {
      if (performance.now() > until) return socket.end();
      received = '';
      sentAt = performance.now();
      socket.write(bytes[sent++ % bytes.length]);
    };
    socket.setNoDelay(true);
    socket.on('connect', next);
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      const end = received.indexOf('\r\n\r\n');
      if (end === -1) return;
      const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? 0);
      if (received.length < end + 4 + length) return;
      const status = received.slice(9, 12);
      statuses[status] = (statuses[status] ?? 0) + 1;
      slowestMs = Math.max(slowestMs, performance.now() - sentAt);
      sentAt = 0;
      next();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (sentAt !== 0) broken += 1;
      if (performance.now() < until) drive();
      else if (--open === 0) process.send({ statuses, broken, slowestMs }, () => process.disconnect());
    });
  };
  for (let index = 0; index < connections; index += 1) drive();
});
process.on('disconnect', () => process.exit(0));
