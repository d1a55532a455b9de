import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { startVectorReceiver, type VectorReceiver } from '../support/vector-receiver.js';
import {
  bytesOf,
  githubCases,
  githubPayloads,
  githubPayloadText,
  githubReplayScript,
  type GithubCase,
} from '../support/vectors.js';

let database: TestDatabase;
let vectors: VectorReceiver;

beforeAll(async () => {
  database = await openDatabase();
  vectors = await startVectorReceiver(database.url, { github: { kind: 'github', secrets: ['${CASE_SECRET}'] } });
});

beforeEach(async () => {
  await database.rows('truncate oncehook.webhook_inbox, oncehook.webhook_payloads, oncehook.webhook_redeliveries');
  vectors.receiver.dispatched.length = 0;
  vectors.receiver.lines.length = 0;
});

afterAll(async () => {
  await vectors.receiver.stop();
  await database.drop();
});

interface Delivery {
  readonly secret: string;
  readonly body: Buffer;
  readonly signatures: readonly string[];
  readonly id?: string;
  readonly event?: string;
  readonly contentType?: string;
}

function deliver({ secret, body, signatures, id = 'd1', event = 'issues', contentType }: Delivery): Promise<string> {
  const headers = [
    ['Content-Type', contentType ?? 'application/json'],
    ['X-GitHub-Event', event],
    ['X-GitHub-Delivery', id],
    ...signatures.map((signature) => ['X-Hub-Signature-256', signature] as const),
  ] as const;
  return vectors.deliver({ source: 'github', secret, headers, body });
}

async function stored(): Promise<readonly Record<string, unknown>[]> {
  return database.rows(
    `select source_scope as scope, event_id as id, event_type as type, status, outcome, reason, payload::text as text
       from oncehook.webhook_inbox join oncehook.webhook_payloads using (source_scope, event_id) order by 2`,
  );
}

describe('signature cases', () => {
  test.each(githubCases().map((vector) => [vector.name, vector] as const))('%s', async (_name, vector) => {
    const { secret, headerLines, contentType } = vector;
    const delivery = { secret, body: bytesOf(vector), signatures: headerLines ?? [] };
    const answer = await deliver({ ...delivery, ...(contentType === undefined ? {} : { contentType }) });
    expect(answer).toBe(expectedAnswer(vector));
    expect(await stored()).toHaveLength(answer === '200 accepted' ? 1 : 0);
  });
});

/** Some of these bodies are no JSON, so a right signature shows in that the body is refused, and not the signature. */
function expectedAnswer(vector: GithubCase): string {
  switch (vector.expect) {
    case 'invalid':
      return '401 invalid_signature';
    case 'signature_valid_json_invalid':
      return '400 invalid_json';
    case 'valid':
      return vector.body === 'Hello, World!' ? '400 invalid_json' : '200 accepted';
  }
}

describe('payloads as GitHub sends them', () => {
  const { secret, payloads } = githubPayloads();

  test.each(payloads.map((payload) => [payload.file, payload] as const))('%s', async (_file, payload) => {
    const text = githubPayloadText(payload.file);
    const form = Buffer.from(new URLSearchParams({ payload: text }).toString());
    const formSignature = `sha256=${createHmac('sha256', secret).update(form).digest('hex')}`;
    const { event } = payload;
    const asJson = { secret, event, id: 'as-json', body: Buffer.from(text) };
    const asForm = { secret, event, id: 'as-form', body: form, contentType: 'application/x-www-form-urlencoded' };

    for (const said of ['200 accepted', '200 duplicate']) {
      expect(await deliver({ ...asJson, signatures: [payload['X-Hub-Signature-256']] })).toBe(said);
      expect(await deliver({ ...asForm, signatures: [formSignature] })).toBe(said);
    }
    const [end, outcome] = event === 'ping' ? ['done', 'ignored'] : ['pending', null];
    const type = payload.action === null ? event : `${event}.${payload.action}`;
    const row = { scope: 'github:github', type, status: end, outcome, reason: null, text };
    expect(await stored()).toEqual([
      { ...row, id: 'as-form' },
      { ...row, id: 'as-json' },
    ]);
    expect(vectors.receiver.dispatched).toHaveLength(event === 'ping' ? 0 : 2);
  });

  test.each(payloads.slice(0, 4).map((payload) => [payload.file, payload] as const))(
    '%s with one byte changed is refused in either form',
    async (_file, payload) => {
      const body = Buffer.from(githubPayloadText(payload.file));
      body.writeUInt8(body.readUInt8(body.length - 2) ^ 1, body.length - 2);
      const signatures = [payload['X-Hub-Signature-256']];
      expect(await deliver({ secret, body, signatures })).toBe('401 invalid_signature');
      expect(await deliver({ secret, body, signatures, contentType: 'application/x-www-form-urlencoded' })).toBe(
        '401 invalid_signature',
      );
    },
  );
});

describe('a form', () => {
  const { secret } = githubPayloads();
  const contentType = 'application/x-www-form-urlencoded';
  const form = (text: string): Delivery => {
    const signatures = [`sha256=${createHmac('sha256', secret).update(text).digest('hex')}`];
    return { secret, body: Buffer.from(text), signatures };
  };

  test.each([
    ['has two payloads', 'payload=%7B%7D&payload=%7B%7D'],
    ['has no payload', 'other=%7B%7D'],
    ['is JSON', '{"action":"opened"}'],
    ['is JSON with a text that looks like fields', '{"title":"&payload=%7B%22action%22%3A%22deleted%22%7D&x="}'],
  ])('that %s is no event, though it is signed', async (_name, text) => {
    expect(await deliver({ ...form(text), contentType })).toBe('400 invalid_event');
    expect(await stored()).toEqual([]);
  });

  test('that comes as JSON is no JSON', async () => {
    expect(await deliver(form('payload=%7B%7D'))).toBe('400 invalid_json');
  });

  test('whose payload is no JSON is refused as that', async () => {
    expect(await deliver({ ...form('payload=%7B'), contentType })).toBe('400 invalid_json');
  });
});

describe('headers that the signature does not cover', () => {
  test.each([
    ['no ID', { id: '' }],
    ['an ID with a space', { id: 'a b' }],
    ['an ID of 256 characters', { id: 'd'.repeat(256) }],
    ['no event', { event: '' }],
    ['an event with a space', { event: 'a b' }],
  ])('with %s there is no event', async (_name, spoiled) => {
    const [payload] = githubPayloads().payloads;
    const { secret } = githubPayloads();
    const body = Buffer.from(githubPayloadText(payload!.file));
    const signatures = [payload!['X-Hub-Signature-256']];
    expect(await deliver({ secret, body, signatures, ...spoiled })).toBe('400 invalid_event');
    expect(await stored()).toEqual([]);
  });

  test('the replay script: no second effect, none under another type, a conflict kept and told', async () => {
    const script = githubReplayScript();
    const answers: string[] = [];
    for (const { headers, body = script.body, signature = script.signature } of script.steps) {
      const id = headers['X-GitHub-Delivery']!;
      const event = headers['X-GitHub-Event']!;
      const signatures = [signature];
      answers.push(await deliver({ secret: script.secret, body: Buffer.from(body), signatures, id, event }));
    }
    expect(answers).toEqual(['200 accepted', '200 duplicate', '200 accepted', '200 accepted', '200 accepted']);

    const first = script.steps[0]!.headers['X-GitHub-Delivery']!;
    const rows = await stored();
    expect(rows.map(({ type, status, reason }) => [type, status, reason].join(' ')).sort()).toEqual([
      'issues.closed quarantined id_conflict',
      'issues.opened pending ',
      'issues.opened quarantined suspected_replay',
      'push.opened quarantined suspected_replay',
    ]);
    expect(rows.find(({ status }) => status === 'pending')).toMatchObject({ id: first, text: script.body });
    expect(rows.find(({ reason }) => reason === 'id_conflict')).toMatchObject({ text: script.steps[4]!.body });
    expect(vectors.receiver.dispatched).toEqual([
      { scope: 'github:github', eventId: first, eventType: 'issues.opened' },
    ]);

    const told = vectors.receiver.lines.filter(({ level, msg }) => level === 'warn' && msg === 'delivery');
    expect(told.map(({ reason }) => reason)).toEqual(['suspected_replay', 'suspected_replay', 'id_conflict']);
    const { values } = await vectors.receiver.metrics.quarantines.get();
    expect(values.filter(({ labels }) => labels.reason === 'id_conflict')).toMatchObject([{ value: 1 }]);
  });
});
