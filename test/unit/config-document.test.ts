import { describe, expect, it } from 'vitest';
import type { HmacSourceConfig, StripeSourceConfig } from '../../src/config/config.js';
import type { ConfigDocument } from '../../src/config/document-schema.js';
import { parseConfig, readConfig } from '../../src/config/parse-config.js';
import { GOOD_ENV, GOOD_FILE, loadText, problemsOf } from '../support/config-input.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Problems of the good file with some lines more, without the place that they all begin with. */
function problemsWith(lines: string): string[] {
  return problemsOf(() => loadText(GOOD_FILE + lines)).map((line) => line.replace(/^oncehook\.yaml(:\d+)?: /, ''));
}

describe('a configuration that says little', () => {
  it('has the documented defaults', () => {
    const { file: _file, environment: _environment, sources, ...blocks } = loadText(GOOD_FILE);
    expect(blocks).toEqual({
      orders: {
        unknownOrderHorizonMs: HOUR,
        firstWaitMs: 5_000,
        maxWaitMs: 600_000,
        latePayment: 'refund',
        secondPayment: 'refund',
        overpaid: 'quarantine',
      },
      effects: {
        refund: { mode: 'propose', maxAmountMinor: 100_000, perHour: 50 },
        cancel_payment_intent: { mode: 'auto', perHour: null },
        email: { mode: 'auto', perHour: null },
        own: {},
      },
      email: {
        orderPaid: 'resend',
        refundSucceeded: 'resend',
        refundFailed: 'resend',
        merchant: null,
        templates: null,
        giveUpAfterMs: 3 * DAY,
      },
      calendar: null,
      maxBodyMemory: 134_217_728,
      dispatch: { startsPerSecond: 50 },
      retention: { payloadMs: 90 * DAY, inboxMs: 400 * DAY },
      warnings: [],
    });
    expect(sources.get('stripe')).toMatchObject({
      kind: 'stripe',
      name: 'stripe',
      account: 'default',
      mode: 'any',
      tenant: 'default',
      ignore: [],
      handlers: 'orders',
      shadow: false,
      activeFrom: undefined,
      response: null,
      maxBodyBytes: 1_048_576,
      rateLimit: null,
      toleranceMs: 300_000,
      apiKey: null,
      owns: null,
    });
  });

  it('cannot be changed, whoever holds it', () => {
    const config = loadText(`${GOOD_FILE}    accounts: { acct_9: tenant-9 }\n`);
    const source = config.sources.get('stripe') as StripeSourceConfig;
    const attempts: (() => unknown)[] = [
      () => Object.assign(config, { maxBodyMemory: 1 }),
      () => Object.assign(config.orders, { firstWaitMs: 1 }),
      () => Object.assign(config.effects.refund, { perHour: 1 }),
      () => Object.assign(source, { tenant: 'other' }),
      () => Object.assign(source.secretReferences[0]!, { variable: 'OTHER' }),
      () => (config.sources as Map<string, unknown>).delete('stripe'),
      () => (source.accounts as Map<string, string>).set('acct_1', 'other'),
      () => (source.ignore as string[]).push('x'),
      () => Object.assign(config.environment, { port: 1 }),
      () => (config.warnings as string[]).push('x'),
    ];
    for (const attempt of attempts) expect(attempt).toThrow(TypeError);
    expect(source.accounts).toEqual(new Map([['acct_9', 'tenant-9']]));
  });
});

describe('a configuration that says much', () => {
  it('is taken as it says', () => {
    const config = loadText(
      `${GOOD_FILE}    account: acct_1
    mode: live
    tenant: shop
    accounts: { acct_9: tenant-9 }
    ignore: ["invoice.*"]
    activeFrom: 2026-01-01T00:00:00+02:00
    response: { body: "[accepted]" }
    tolerance: 2m
    maxBodyBytes: 2048
    rateLimit: { perSecond: 200 }
orders: { unknownOrderHorizon: 30m, firstWait: 1s, maxWait: 5m }
effects: { refund: { mode: auto, perHour: 5 }, email: { mode: off }, notify_warehouse: { perHour: 9 } }
email: { orderPaid: hold, giveUpAfter: 12h }
maxBodyMemory: 4096
dispatch: { startsPerSecond: 5 }
`,
    );
    expect(config.sources.get('stripe')).toMatchObject({
      account: 'acct_1',
      mode: 'live',
      tenant: 'shop',
      accounts: new Map([['acct_9', 'tenant-9']]),
      ignore: ['invoice.*'],
      activeFrom: new Date('2025-12-31T22:00:00Z'),
      response: { body: '[accepted]', contentType: 'text/plain' },
      toleranceMs: 120_000,
      maxBodyBytes: 2048,
      rateLimit: { perSecond: 200, burst: 200 },
    });
    expect(config).toMatchObject({
      orders: { unknownOrderHorizonMs: HOUR / 2, firstWaitMs: 1_000, maxWaitMs: 300_000 },
      effects: {
        refund: { mode: 'auto', maxAmountMinor: 100_000, perHour: 5 },
        email: { mode: 'off' },
        own: { notify_warehouse: { mode: 'auto', maxAmountMinor: null, perHour: 9 } },
      },
      email: { orderPaid: 'hold', giveUpAfterMs: DAY / 2 },
      maxBodyMemory: 4096,
      dispatch: { startsPerSecond: 5 },
    });
  });

  it('may drop payloads at once', () => {
    expect(loadText(`${GOOD_FILE}retention: { payload: 0d }\n`).retention.payloadMs).toBe(0);
  });
});

describe('every problem at once', () => {
  it('is reported by line and path, whatever else is wrong with the same source', () => {
    const text = `version: 2
sources:
  shop:
    kind: stripe
    secrets: ["\${SHORT}", "\${UNSET}"]
    toleranc: 300s
    mode: liv
    handlers: order
    accounts: { "acct:9": tenant-9 }
  other:
    kind: strip
  Third: { kind: stripe, secrets: [] }
  fourth: { secrets: ["\${SHORT}"] }
dispach: { startsPerSecond: 5 }
orders: { firstWait: 20m, maxWait: 10, latePayment: keep }
retention: { payload: 100d, inbox: 50d }
`;
    const env = { ...GOOD_ENV, SHORT: 'whsec_1234567', PORT: '99999' };
    expect(problemsOf(() => loadText(text, { env }))).toEqual([
      'oncehook.yaml:1: version: must be 1',
      'oncehook.yaml:5: sources.shop.secrets[0]: SHORT has fewer than 8 characters after whsec_',
      'oncehook.yaml:5: sources.shop.secrets[1]: the environment variable UNSET is not set',
      'oncehook.yaml:6: sources.shop.toleranc: unknown key; did you mean tolerance?',
      'oncehook.yaml:7: sources.shop.mode: must be one of live, test, any; did you mean live?',
      'oncehook.yaml:8: sources.shop.handlers: there is no handler set of this name; did you mean orders?',
      'oncehook.yaml:9: sources.shop.accounts.(name not shown): must be 1 to 200 printable ASCII characters without space and colon',
      'oncehook.yaml:11: sources.other.kind: must be one of stripe, github, standard-webhooks, hmac; did you mean stripe?',
      'oncehook.yaml:12: sources.Third: a source name has 1 to 64 of a-z, 0-9, _ and -, and begins with a letter or digit',
      'oncehook.yaml:13: sources.fourth.kind: is missing; must be one of stripe, github, standard-webhooks, hmac',
      'oncehook.yaml:14: dispach: unknown key; did you mean dispatch?',
      'oncehook.yaml:15: orders.maxWait: must be a duration: a whole number and ms, s, m, h or d, such as 300s or 90d',
      'oncehook.yaml:15: orders.latePayment: must be one of refund, quarantine',
      'oncehook.yaml:16: retention.payload: is longer than inbox (50d)',
      'PORT: must be a port number, 0 to 65535; 0 takes any free one',
    ]);
  });
});

describe('one thing wrong', () => {
  it.each([
    ['    tolerance: 300\n', 'sources.stripe.tolerance: must be a duration'],
    ['    tolerance: 5 m\n', 'sources.stripe.tolerance: must be a duration'],
    ['    tolerance: 1.5h\n', 'sources.stripe.tolerance: must be a duration'],
    ['    tolerance: -5s\n', 'sources.stripe.tolerance: must be a duration'],
    ['    tolerance: 0s\n', 'sources.stripe.tolerance: must be longer than 0'],
    ['    tolerance: 99999d\n', 'sources.stripe.tolerance: must be at most 36500d'],
    ['    activeFrom: 2026-01-01\n', 'sources.stripe.activeFrom: must be a time with its zone'],
    ['    activeFrom: 2026-02-30T00:00:00Z\n', 'sources.stripe.activeFrom: must be a time with its zone'],
    ['    maxBodyBytes: 0\n', 'sources.stripe.maxBodyBytes: must be at least 1'],
    ['    maxBodyBytes: 1.5\n', 'sources.stripe.maxBodyBytes: must be a whole number'],
    ['    maxBodyBytes: 1mb\n', 'sources.stripe.maxBodyBytes: must be a whole number'],
    ['    maxBodyBytes: 134217729\n', 'sources.stripe.maxBodyBytes: one body of 134217729 bytes does not fit'],
    ['maxBodyMemory: 1024\n', 'sources.stripe.maxBodyBytes: one body of 1048576 bytes does not fit'],
    ['    tenant: "*"\n', 'sources.stripe.tenant: must be 1 to 255 printable ASCII characters'],
    ['    tenant: "two words"\n', 'sources.stripe.tenant: must be 1 to 255 printable ASCII characters'],
    ['    account: "acct:1"\n', 'sources.stripe.account: must be 1 to 200 printable ASCII characters'],
    ['    accounts: { default: other }\n', "sources.stripe.accounts.default: is the source's own account"],
    ['    ignore: invoice.*\n', 'sources.stripe.ignore: must be a list of event types'],
    ['    ignore: [""]\n', 'sources.stripe.ignore[0]: must be an event type or a pattern'],
    ['    response: { contentType: text/plain }\n', 'sources.stripe.response.body: is missing'],
    [
      '    response: { body: "", contentType: "a/b\\r\\nx: y" }\n',
      'sources.stripe.response.contentType: must be a media',
    ],
    ['    rateLimit: { burst: 5 }\n', 'sources.stripe.rateLimit.perSecond: is missing'],
    ['    rateLimit: { perSecond: 0 }\n', 'sources.stripe.rateLimit.perSecond: must be at least 1'],
    ['    equalBodies: normal\n', 'sources.stripe.equalBodies: is not for this kind: the ID is signed'],
    ['    tenant: "${TENANT}"\n', 'sources.stripe.tenant: is taken as it stands'],
    ['    secretEncoding: hex\n', 'sources.stripe.secretEncoding: unknown key; known here: kind, secrets'],
    ['    max_body_bytes: 5\n', 'sources.stripe.max_body_bytes: unknown key; did you mean maxBodyBytes?'],
    ['    __proto__: { x: 1 }\n', 'sources.stripe.__proto__: unknown key'],
    ['__proto__: { x: 1 }\n', '__proto__: unknown key'],
    ['    accounts: { __proto__: x }\n', 'sources.stripe.accounts.__proto__: unknown key'],
    ['  __proto__: { kind: stripe }\n', 'sources.__proto__: unknown key'],
    ['    <<: { tenant: x }\n', 'sources.stripe.(name not shown): unknown key'],
    ['orders:\n', 'orders: must be a map of settings'],
    ['orders: { firstWait: 11m }\n', 'orders.firstWait: is longer than maxWait (10m)'],
    ['retention: { inbox: 30d }\n', 'retention.inbox: must be at least 31d'],
    ['retention: { payload: 401d }\n', 'retention.payload: is longer than inbox (400d)'],
    ['email: { merchant: "a@b.example, c@d.example" }\n', 'email.merchant: the value must be one mail address'],
    ['email: { orderPaid: yes }\n', 'email.orderPaid: must be one of resend, hold, off'],
    ['dispatch: { startsPerSecond: 0 }\n', 'dispatch.startsPerSecond: must be at least 1'],
  ])('%j is refused with one sentence', (lines, says) => {
    const problems = problemsWith(lines);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(says);
  });

  it.each([
    ['31 days of inbox', 'retention: { inbox: 31d, payload: 31d }\n'],
    ['equal waits', 'orders: { firstWait: 10m }\n'],
    ['a body of the whole memory', '    maxBodyBytes: 134217728\n'],
    ["the source's own account with its own tenant", '    accounts: { default: default }\n'],
  ])('%s is just legal', (_case, lines) => {
    expect(problemsWith(lines)).toEqual([]);
  });

  it('is that there is no source, no version', () => {
    expect(problemsOf(() => loadText('sources: {}\n'))).toContain(
      'oncehook.yaml: version: is missing; write version: 1',
    );
    expect(problemsOf(() => loadText('version: 1\n'))).toContain('oncehook.yaml: sources: is missing');
  });
});

describe('handler sets', () => {
  it('of a user must be registered, and built-in names stay ours', () => {
    const text = `${GOOD_FILE}    handlers: shop-handlers\n`;
    expect(problemsOf(() => loadText(text, { role: 'worker' }))).toEqual([
      'oncehook.yaml:6: sources.stripe.handlers: there is no handler set of this name; known: orders, ledger, calendar, none',
    ]);
    expect(loadText(text).warnings).toEqual([
      'oncehook.yaml:6: sources.stripe.handlers: is no built-in handler set: the worker must be given it in code',
    ]);
    const config = loadText(text, { handlerSets: new Set(['shop-handlers']) });
    expect(config.sources.get('stripe')?.handlers).toBe('shop-handlers');
  });
});

describe('sources that share a scope', () => {
  const two = (one: string, other: string): string => `version: 1
sources:
  one: { kind: stripe, secrets: ["\${STRIPE_WEBHOOK_SECRET}"], ${one} }
  two: { kind: stripe, secrets: ["\${SECOND}"], ${other} }
`;
  const env = { ...GOOD_ENV, SECOND: 'whsec_the-second-endpoint' };
  const problems = (one: string, other: string): readonly string[] =>
    problemsOf(() => loadText(two(one, other), { env }));

  it('are two endpoints of one Stripe account, and welcome', () => {
    const config = loadText(two('account: acct_1', 'account: acct_1'), { env });
    expect(config.sources.size).toBe(2);
    expect(config.warnings).toEqual([]);
  });

  it('must not give one account two tenants, also by way of Connect', () => {
    const text = 'sources.one gives the same account another tenant';
    expect(problems('account: acct_1, tenant: a', 'account: acct_1, tenant: b')).toEqual([
      `oncehook.yaml:4: sources.two.tenant: ${text}`,
    ]);
    expect(problems('account: p, accounts: { acct_9: a }', 'account: acct_9, tenant: b')).toEqual([
      `oncehook.yaml:4: sources.two.tenant: ${text}`,
    ]);
    expect(problems('account: p, accounts: { acct_9: a }', 'account: q, accounts: { acct_9: b }')).toEqual([
      `oncehook.yaml:4: sources.two.accounts.acct_9: ${text}`,
    ]);
  });

  it('are none when their modes never meet', () => {
    expect(problems('account: a, mode: live, tenant: a', 'account: a, mode: test, tenant: b')).toEqual([]);
    expect(problems('account: a, mode: live, tenant: a', 'account: a, mode: any, tenant: b')).toHaveLength(1);
  });

  it('are warned of when they would judge one event differently', () => {
    const { warnings } = loadText(two('account: a', 'account: a, handlers: none, ignore: ["x"]'), { env });
    expect(warnings.join()).toContain('sources.two: shares a scope with sources.one and differs in handlers, ignore');
  });

  it('are warned of when neither names its account', () => {
    expect(loadText(two('mode: any', 'mode: live'), { env }).warnings.join()).toContain(
      'sources.two: counts as the same Stripe account as sources.one',
    );
  });

  it('are warned of when they have one secret', () => {
    const { warnings } = loadText(two('account: a', 'account: b'), {
      env: { ...GOOD_ENV, SECOND: GOOD_ENV.STRIPE_WEBHOOK_SECRET },
    });
    expect(warnings.join()).toContain('sources.two.secrets: has a secret of sources.one too');
  });

  it('are refused for GitHub, which gives one delivery ID to several hooks', () => {
    const hooks = (one: string, other: string): ConfigDocument => ({
      version: 1,
      sources: {
        'app-a': {
          kind: 'github',
          secrets: ['a secret of twenty-four bytes'],
          ...(one === '' ? {} : { account: one }),
        },
        'app-b': {
          kind: 'github',
          secrets: ['another one of these secrets'],
          ...(other === '' ? {} : { account: other }),
        },
      },
    });
    const read = (document: ConfigDocument) =>
      readConfig(
        { document, file: null, origin: { label: null, lineOf: () => undefined }, problems: [], literals: 'allowed' },
        { env: {} },
        [],
      );
    expect([...read(hooks('', '')).sources.values()].map(({ account }) => account)).toEqual(['app-a', 'app-b']);
    expect(problemsOf(() => read(hooks('x', 'x'))).join()).toContain(
      'sources.app-b.account: is also the account of sources.app-a',
    );
    expect(problemsOf(() => read(hooks('app-b', '')))).toHaveLength(1);
  });
});

describe('a configuration in code', () => {
  const document: ConfigDocument = {
    version: 1,
    sources: { stripe: { kind: 'stripe', secrets: ['whsec_given-in-code'], tolerance: '10s' } },
  };

  it('has the shape of the file, and may hold its secrets', () => {
    const config = parseConfig(document, { env: {} });
    expect(config.file).toBeNull();
    const source = config.sources.get('stripe') as StripeSourceConfig;
    expect(source.secrets.current().map((secret) => secret.reveal())).toEqual(['whsec_given-in-code']);
    expect(source.toleranceMs).toBe(10_000);
  });

  it('says what is wrong by path alone', () => {
    const wrong = { ...document, maxBodyMemry: 5 } as ConfigDocument;
    expect(problemsOf(() => parseConfig(wrong, { env: {} }))).toEqual([
      'maxBodyMemry: unknown key; did you mean maxBodyMemory?',
    ]);
  });

  it('is copied: what its owner changes later changes nothing', () => {
    const mine = structuredClone(document) as { sources: { stripe: { ignore?: string[] } } } & ConfigDocument;
    mine.sources.stripe.ignore = ['a'];
    const config = parseConfig(mine, { env: {} });
    mine.sources.stripe.ignore.push('b');
    expect(config.sources.get('stripe')?.ignore).toEqual(['a']);
  });

  it('must be plain data', () => {
    const wrong = {
      ...document,
      orders: new Map(),
      sources: { stripe: { ...document.sources.stripe, ignore: [() => 1] } },
    };
    expect(problemsOf(() => parseConfig(wrong as unknown as ConfigDocument, { env: {} }))).toEqual([
      'sources.stripe.ignore[0]: must be plain data: text, number, true, false, list or map',
      'orders: must be plain data: text, number, true, false, list or map',
    ]);
  });

  it('may leave settings undefined', () => {
    const config = parseConfig({ ...document, orders: undefined, email: { merchant: undefined } }, { env: {} });
    expect(config.warnings).toEqual([]);
  });
});

describe('an hmac source', () => {
  const hmac = (fields: string, signature = ''): string[] => {
    const text = `version: 1
sources:
  clinic:
    kind: hmac
    secrets: ["\${CLINIC_SECRET}"]
    signature: { header: X-Signature${signature} }
${fields}`;
    const env = { ...GOOD_ENV, CLINIC_SECRET: 'a secret of twenty-four bytes' };
    return problemsOf(() => loadText(text, { env }))
      .map((line) => line.replace(/^oncehook\.yaml(:\d+)?: sources\.clinic\./, ''))
      .filter((line) => !line.includes('not built yet'));
  };
  const IN_HEADER = '    eventId: { header: X-Event-Id }\n    eventType: { body: /type }\n';
  const IN_BODY = '    eventId: { body: /id }\n    eventType: { body: /type }\n';

  it.each([
    ['a tolerance without a signed time', IN_BODY + '    tolerance: 5m\n', '', 'tolerance: needs a signed time'],
    [
      'a signed time without a place',
      IN_BODY,
      ', signed: "{timestamp}.{body}"',
      'signature.signed: has {timestamp}, but neither',
    ],
    ['a time that is not signed', IN_BODY, ', timestamp: { header: X-Time }', 'signature.signed: lacks {timestamp}'],
    [
      'two places of the time',
      IN_BODY,
      ', signed: "{timestamp}{body}", timestamp: { header: X-Time }, fields: { separator: ";", timestamp: ts, signature: h1 }',
      'signature.fields.timestamp: is a second place',
    ],
    ['a signed ID that is no header', IN_BODY, ', signed: "{id}{body}"', 'signature.signed: has {id}'],
    ['nothing of the body signed', IN_BODY, ', signed: "{id}"', 'signature.signed: must have {body} once'],
    ['another placeholder', IN_BODY, ', signed: "{body}{url}"', 'signature.signed: must have {body} once'],
    ['equal bodies where the ID is signed', IN_BODY + '    equalBodies: normal\n', '', 'equalBodies: has no effect'],
    [
      'a pointer without its slash',
      '    eventId: { body: id }\n    eventType: { body: /type }\n',
      '',
      'eventId.body: must be a JSON pointer',
    ],
    [
      'two kinds of ID',
      '    eventId: { header: X, body: /id }\n    eventType: { body: /type }\n',
      '',
      'eventId.body: unknown key',
    ],
    [
      'an ID derived of nothing',
      '    eventId: { derived: [] }\n    eventType: { body: /type }\n',
      '',
      'eventId.derived: must name at least one',
    ],
    [
      'a field derived twice',
      '    eventId: { derived: [/a, /a] }\n    eventType: { body: /type }\n',
      '',
      'eventId.derived: names a field twice',
    ],
    ['a mode', IN_BODY + '    mode: live\n', '', 'mode: is not for this kind'],
  ])('is refused with %s', (_case, fields, signature, says) => {
    const problems = hmac(fields, signature);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(says);
  });

  it('is otherwise sound', () => {
    expect(hmac(IN_BODY)).toEqual([]);
    expect(hmac(`${IN_HEADER}    equalBodies: normal\n`)).toEqual([]);
    expect(
      hmac(`${IN_HEADER}    tolerance: 5m\n`, ', signed: "{id}.{timestamp}.{body}", timestamp: { header: X-Time }'),
    ).toEqual([]);
  });

  it('has every part of its description when it is built', () => {
    const config = readConfig(
      {
        document: {
          version: 1,
          sources: {
            paddle: {
              kind: 'hmac',
              secrets: ['a secret of twenty-four bytes'],
              signature: {
                header: 'Paddle-Signature',
                signed: '{timestamp}:{body}',
                fields: { separator: ';', timestamp: 'ts', signature: 'h1' },
              },
              eventId: { body: '/event_id' },
              eventType: { body: '/event_type' },
            },
          },
        },
        file: null,
        origin: { label: null, lineOf: () => undefined },
        problems: [],
        literals: 'allowed',
      },
      { env: {} },
      [],
    );
    const source = config.sources.get('paddle') as HmacSourceConfig;
    expect(source).toMatchObject({
      account: 'paddle',
      handlers: 'none',
      secretEncoding: 'utf8',
      signature: {
        header: 'paddle-signature',
        algorithm: 'sha256',
        encoding: 'hex',
        prefix: '',
        signed: '{timestamp}:{body}',
        timestamp: { kind: 'field', field: 'ts', unit: 's' },
        fields: { separator: ';', signature: 'h1' },
      },
      eventId: { kind: 'body', pointer: '/event_id', type: 'string' },
      eventType: { kind: 'body', pointer: '/event_type' },
      challenge: null,
      equalBodies: null,
      toleranceMs: 300_000,
    });
  });
});
