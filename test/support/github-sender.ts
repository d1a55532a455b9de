import { createHmac } from 'node:crypto';
import type { ReceiverSourceConfig } from '../../src/receiver.js';
import { send, type Answer } from './http-client.js';
import { secretsOf } from './running-receiver.js';

const GITHUB_SECRET = "It's a Secret to Everybody";

/** A source `github` as the configuration would make it; each setting spoils one thing. */
export function githubConfig(
  settings: Partial<Extract<ReceiverSourceConfig, { kind: 'github' }>> = {},
): ReceiverSourceConfig {
  return {
    kind: 'github',
    name: 'github',
    account: 'github',
    tenant: 'default',
    equalBodies: 'suspicious',
    ignore: [],
    secrets: secretsOf(GITHUB_SECRET),
    toleranceMs: 0,
    maxBodyBytes: 25 * 1024 * 1024,
    rateLimit: undefined,
    response: undefined,
    ...settings,
  };
}

export interface GithubDelivery {
  readonly id: string;
  readonly event?: string;
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly path?: string;
}

/** A delivery signed as GitHub signs it; its ID and event are headers that the signature does not cover. */
export async function deliverGithub(port: number, delivery: GithubDelivery): Promise<Answer> {
  const { id, event = 'issues', body, headers = {}, path = '/webhooks/github' } = delivery;
  const digest = createHmac('sha256', GITHUB_SECRET).update(body).digest('hex');
  return send(port, {
    path,
    body,
    headers: {
      'Content-Type': 'application/json',
      'X-GitHub-Event': event,
      'X-GitHub-Delivery': id,
      'X-Hub-Signature-256': `sha256=${digest}`,
      ...headers,
    },
  });
}
