import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createWebhookWorker } from 'oncehook';
import { shopActivities } from './activities.js';
import { SHOP_QUEUE } from './app.js';
import { openDatabase, temporalAddress } from './connections.js';
import { webhooks } from './webhooks.js';

const db = openDatabase();
const connection = await NativeConnection.connect({ address: temporalAddress() });
const shopWorker = await Worker.create({
  connection,
  taskQueue: SHOP_QUEUE,
  workflowsPath: fileURLToPath(new URL('./workflows.js', import.meta.url)),
  activities: shopActivities(db),
});
const webhookWorker = createWebhookWorker({ ...webhooks, connection });

// Temporal's own worker stops on these signals by itself.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void webhookWorker.stop());

console.log('shop: working');
await Promise.all([shopWorker.run(), webhookWorker.run()]);
await webhookWorker.stop();
await Promise.all([db.$client.end(), connection.close()]);
