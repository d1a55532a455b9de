import { startStripeStandIn } from './server.js';

/** The stand-in as a process of its own: `stand-in-process.js LEDGER [PORT]`; its first line of output is its port. */
const [ledger, port = '0'] = process.argv.slice(2);
if (ledger === undefined) throw new TypeError('usage: stand-in-process.js LEDGER [PORT]');
const standIn = await startStripeStandIn({ ledger, port: Number(port) });
process.stdout.write(`${standIn.port}\n`);

// Ends with whoever started it: nobody else knows of it.
process.stdin.resume().on('end', () => process.exit(0));
