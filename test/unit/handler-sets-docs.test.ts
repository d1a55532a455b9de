import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config/parse-config.js';
import { readYaml } from '../../src/config/yaml-document.js';
import { readAppointment } from '../../src/handlers/calendar/appointment.js';
import { readPaymentFact } from '../../src/handlers/ledger/payment-fact.js';
import { GOOD_ENV } from '../support/config-input.js';
import { ROOT } from '../support/dist.js';

const PAGE = readFileSync(join(ROOT, 'docs/handler-sets.md'), 'utf8');

function blocks(language: string): readonly string[] {
  return [...PAGE.matchAll(new RegExp('```' + language + '\\n([\\s\\S]*?)```', 'g'))].map(([, text = '']) => text);
}

describe('docs/handler-sets.md', () => {
  it('shows a configuration that is right', () => {
    const [text = ''] = blocks('yaml');
    const { document, problems, lineOf } = readYaml(`version: 1\n${text}`);
    const env = {
      ...GOOD_ENV,
      CLINIC_SECRET: 'a secret of twenty-four bytes',
      SHOP_SECRET: Buffer.alloc(32, 1).toString('base64'),
      CALENDAR_URL: 'https://calendar.example/hook?token=1',
    };
    const origin = { label: null, lineOf };
    const config = readConfig(
      { document, file: null, origin, problems, literals: 'refused' },
      { env, role: 'worker' },
      [],
    );
    expect([...config.sources.values()].map(({ handlers }) => handlers)).toEqual(['calendar', 'ledger']);
    expect(config.warnings).toEqual([]);
  });

  it('shows payloads that the sets take', () => {
    const [payment, appointment] = blocks('json').map((text) => JSON.parse(text) as { readonly type: string });
    expect(readPaymentFact({ type: 'payment.succeeded', payload: payment })).toMatchObject({
      reference: 'inv-2026-17',
    });
    expect(readAppointment({ type: 'appointment.rescheduled', payload: appointment })).toMatchObject({ version: 3 });
  });
});
