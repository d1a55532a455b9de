import { Router } from 'express';
import type { ReceiveWebhook } from './receive-webhook.js';

/** Routes `/webhooks/{source}` and nothing else, so that it can be mounted in another application. */
export function createWebhookRouter(receiveWebhook: ReceiveWebhook): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.all('/webhooks/:source', (req, res) => receiveWebhook(req, res, req.params.source));
  return router;
}
