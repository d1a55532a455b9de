// A scriptable SMTP server in a process of its own, outside whatever a test kills. Written on bare sockets: a test of
// lost answers must decide, byte for byte, what was accepted and what was said. Each connection plays the next
// behaviour of the script, then `accept`. The ledger (one JSON line per connection's end or accepted message) is on disk before
// anything is answered.
import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { createServer } from 'node:net';

const [ledgerPath, port = '0'] = process.argv.slice(2);
const ledger = openSync(ledgerPath, 'a');
let script = [];

process.on('message', (behaviours) => {
  script = [...behaviours];
  process.send('scripted');
});
process.on('disconnect', () => process.exit(0));

function note(entry) {
  writeSync(ledger, `${JSON.stringify(entry)}\n`);
  fsyncSync(ledger);
}

const server = createServer((socket) => {
  const [behaviour = 'accept', argument] = (script.shift() ?? 'accept').split(':');
  const commands = [];
  let inContent = false;
  let buffered = Buffer.alloc(0);

  const say = (line) => socket.write(`${line}\r\n`);
  const is = (name) => behaviour === name;
  socket.on('error', () => undefined);
  socket.on('close', () => note({ type: 'session', behaviour, commands }));

  if (is('greet-silent')) return;
  if (is('cut-at-once')) return socket.destroy();
  if (is('greet')) return say(`${argument} not now`);
  say('220 sink ESMTP');

  socket.on('data', (chunk) => {
    if (inContent && stopsInContent()) return stopReading();
    buffered = Buffer.concat([buffered, chunk]);
    if (inContent) readContent();
    else readCommands();
  });

  function readCommands() {
    for (let end = buffered.indexOf('\r\n'); end >= 0 && !inContent; end = buffered.indexOf('\r\n')) {
      const line = buffered.subarray(0, end).toString('latin1');
      buffered = buffered.subarray(end + 2);
      commands.push(line);
      answer(line);
    }
    if (inContent) readContent();
  }

  function answer(line) {
    const verb = line.slice(0, 4).toUpperCase();
    if (verb === 'EHLO') return sayHello();
    if (verb === 'HELO') return say('250 sink');
    if (verb === 'AUTH') return say(is('auth') ? `${argument} no` : '235 2.7.0 in');
    if (verb === 'STAR') return say('502 5.5.1 no such thing');
    if (verb === 'MAIL') return say(is('mail') ? `${argument} no` : '250 2.1.0 ok');
    if (verb === 'RCPT') {
      if (is('cut-in-envelope')) return socket.destroy();
      return say(is('rcpt') ? `${argument} no` : '250 2.1.5 ok');
    }
    if (verb === 'DATA') return startContent();
    if (verb === 'QUIT') return socket.end('221 bye\r\n');
    return say('250 ok');
  }

  function sayHello() {
    if (is('auth') || is('offer-auth')) say('250-AUTH PLAIN LOGIN');
    if (is('small')) say(`250-SIZE ${argument}`);
    say('250 8BITMIME');
  }

  function startContent() {
    if (is('rcpt') || is('mail')) return say('503 5.5.1 no recipients');
    if (is('data')) return say(`${argument} no`);
    inContent = true;
    say('354 go on');
    if (is('accept-early')) say('250 2.0.0 already');
  }

  function stopsInContent() {
    return is('cut-in-content') || is('hang-in-content') || is('accept-early');
  }

  /** The content has begun; from here on the sender's buffers fill, and its final dot cannot come. */
  function stopReading() {
    socket.pause();
    setTimeout(() => socket.destroy(), is('cut-in-content') ? 200 : 2_000);
  }

  function readContent() {
    const end = buffered.subarray(0, 3).equals(Buffer.from('.\r\n')) ? 0 : buffered.indexOf('\r\n.\r\n');
    if (end < 0) return;
    const content = buffered.subarray(0, end === 0 ? 0 : end + 2);
    buffered = Buffer.alloc(0);
    inContent = false;
    finishContent(Buffer.from(content.toString('latin1').replace(/^\.\./gm, '.'), 'latin1'));
  }

  function finishContent(content) {
    if (is('cut-after-dot')) return socket.destroy();
    if (is('silent-after-dot')) return;
    if (is('torn-reply')) return socket.end(`${argument} 5.0.0 hal`);
    if (is('end')) return say(`${argument} no`);
    note({
      type: 'accepted',
      from: addressIn('MAIL FROM'),
      to: commands.filter((line) => /^RCPT/i.test(line)).map((line) => /<(.*)>/.exec(line)?.[1]),
      messageId: /^message-id: *(\S+)/im.exec(content.toString('latin1'))?.[1],
      sha256: createHash('sha256').update(content).digest('hex'),
      content: content.toString('latin1'),
    });
    if (is('accept-then-cut')) return socket.destroy();
    if (is('accept-then-silent')) return;
    say('250 2.0.0 queued');
  }

  function addressIn(command) {
    return /<(.*)>/.exec(commands.find((line) => line.toUpperCase().startsWith(command)) ?? '')?.[1];
  }
});

server.listen(Number(port), '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('exit', () => closeSync(ledger));
