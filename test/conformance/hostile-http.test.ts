import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { liveBytes } from '../support/heap.js';
import { deliver, sendRaw, send, type RawStep } from '../support/http-client.js';
import { SECRET, startReceiver, type RunningReceiver } from '../support/running-receiver.js';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { hostileRequests, type HostileRequest } from '../support/vectors.js';

let database: TestDatabase;
let receiver: RunningReceiver;

beforeAll(async () => {
  database = await openDatabase();
  receiver = await startReceiver(database.url);
});

afterAll(async () => {
  await receiver.stop();
  await database.drop();
});

describe('hostile requests', () => {
  // At once: the slow ones take as long as the deadlines that they test.
  test.concurrent.each(hostileRequests().map((request) => [request.name, request] as const))(
    '%s',
    async (name, request) => {
      const answers = name === 'pipelined-two' ? 2 : 1;
      const answer = await sendRaw(receiver.port, stepsOf(request), { answers, head: name === 'method-HEAD' });
      const statuses: (number | 'closed')[] = answer.statuses.length === 0 ? ['closed'] : [...answer.statuses];
      expect(statuses).toHaveLength(answers);
      for (const status of statuses) expect(request.expectStatus).toContain(status);
      // Broken HTTP is refused by node, without a body.
      const problem = problemIn(answer.text);
      if (problem !== undefined && request.expectCode !== undefined) expect(problem.code).toBe(request.expectCode);
      if (request.group === 'method' && statuses[0] === 405) expect(answer.text).toContain('\r\nAllow: POST\r\n');
      expect(answer.text).not.toMatch(/ at .*\.(js|ts):\d/);
    },
    20_000,
  );
});

describe('after all of them', () => {
  test('the receiver is up and holds nothing', async () => {
    expect((await send(receiver.port, { method: 'GET', path: '/healthz' })).status).toBe(200);
    expect((await receiver.metrics.bodyBytesInMemory.get()).values).toMatchObject([{ value: 0 }]);
  });

  test('no line of the log holds what a caller wrote', () => {
    const log = JSON.stringify(receiver.lines);
    for (const written of ['evt_1', 'nope', '__proto__', 'constructor', 'Set-Cookie', 'evil', 'aaaaaaaaaa']) {
      expect(log).not.toContain(written);
    }
  });

  test('its memory is flat', async () => {
    const quick = hostileRequests().filter(({ group, name }) => group !== 'slow' && name !== 'method-HEAD');
    const large = Buffer.alloc(1024 * 1024, '[');
    const round = async (): Promise<void> => {
      await Promise.all(quick.map((request) => sendRaw(receiver.port, stepsOf(request), { patienceMs: 1_000 })));
      await send(receiver.port, { body: large });
      await deliver(receiver.port, SECRET, large);
    };
    for (let warmUp = 0; warmUp < 3; warmUp += 1) await round();
    receiver.lines.length = 0;
    const before = liveBytes();
    for (let again = 0; again < 10; again += 1) await round();
    receiver.lines.length = 0;
    expect(liveBytes() - before).toBeLessThan(8 * 1024 * 1024);
  }, 60_000);

  test('nothing is stored', async () => {
    expect(await database.rows('select from oncehook.webhook_inbox')).toEqual([]);
  });
});

function stepsOf(request: HostileRequest): readonly RawStep[] {
  if (request.chunks !== undefined) {
    return request.chunks.map(([text, wait]) => ({
      bytes: Buffer.from(text, 'latin1'),
      ...(wait < 0 ? { halfClose: true } : { waitMs: wait }),
    }));
  }
  if (request.rawBase64 !== undefined) return [{ bytes: Buffer.from(request.rawBase64, 'base64') }];
  const { raw, generate } = request;
  return [{ bytes: Buffer.from(raw ?? generate!.head + generate!.repeat[0].repeat(generate!.repeat[1]), 'latin1') }];
}

function problemIn(text: string): { code: string } | undefined {
  const [, json] = /\r\n\r\n(\{.*\})/.exec(text) ?? [];
  return json === undefined ? undefined : (JSON.parse(json) as { code: string });
}
