import { createWebhookReceiver } from 'oncehook';
import { createApp } from './app.js';
import { openDatabase, openTemporal } from './connections.js';
import { webhooks } from './webhooks.js';

const db = openDatabase();
const temporal = await openTemporal();
const receiver = createWebhookReceiver({ ...webhooks, client: temporal });
const port = Number(process.env.PORT ?? 3000);
const server = createApp(db, temporal, receiver).listen(port, () => {
  console.log(`shop: listening on port ${port}`);
});

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    server.close(async () => {
      await receiver.stop();
      await Promise.all([db.$client.end(), temporal.connection.close()]);
    });
  });
}
