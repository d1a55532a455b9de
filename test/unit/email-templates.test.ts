import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/errors.js';
import { loadMailTemplates } from '../../src/providers/email-templates/load-templates.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';

let folder: string;

beforeEach(() => {
  folder = openTempDir();
});

afterEach(() => {
  removeDir(folder);
});

function write(files: Readonly<Record<string, string>>): void {
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
}

function problemsOf(): readonly string[] {
  try {
    loadMailTemplates(folder);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map((problem) => problem.replaceAll(`${folder}/`, ''));
    throw error;
  }
  return [];
}

const GOOD = {
  'order_paid.txt': 'Subject: Danke für {{order}}\r\n\r\nWir haben {{amount}} für {{order}} erhalten.\r\n',
  'order_paid.html': '<p title="{{order}}">Wir haben <b>{{amount}}</b> für {{order}} erhalten.</p>\n',
};

describe("one's own mail templates", () => {
  it('say what their files say, with the facts in their places', () => {
    write(GOOD);
    const { orderPaid, ...others } = loadMailTemplates(folder);
    expect(orderPaid?.({ orderId: 'o_1', amount: '42.00 EUR' })).toEqual({
      subject: 'Danke für o_1',
      text: 'Wir haben 42.00 EUR für o_1 erhalten.\n',
      html: '<p title="o_1">Wir haben <b>42.00 EUR</b> für o_1 erhalten.</p>\n',
    });
    expect(others).toEqual({});
  });

  it('let no fact become markup, another placeholder or a replacement pattern', () => {
    write(GOOD);
    const content = loadMailTemplates(folder).orderPaid?.({ orderId: `"><script>{{amount}}$&\u202e`, amount: '1' });
    expect(content?.html).toContain('<p title="&quot;&gt;&lt;script&gt;{{amount}}$&amp;\uFFFD">');
    expect(content?.subject).toBe('Danke für "><script>{{amount}}$&\uFFFD');
  });

  it('name the refund in mails about refunds', () => {
    write({ 'refund_failed.txt': 'Subject: {{refund}}\n\n{{refund}}', 'refund_failed.html': '{{refund}}' });
    const { refundFailed } = loadMailTemplates(folder);
    expect(refundFailed?.({ orderId: 'o', amount: '1', refundId: 're_1' })).toEqual({
      subject: 're_1',
      text: 're_1',
      html: 're_1',
    });
  });

  it('are refused at start with every problem of every file', () => {
    write({
      'order_paid.txt': 'Danke {{order}}',
      'order_paid.html': '{{refund}} {{ order }}',
      'refund_failed.txt': 'Subject: x\n\n',
      'orderpaid.txt': '',
    });
    mkdirSync(join(folder, 'more'));
    expect(problemsOf()).toEqual([
      expect.stringMatching(/^email\.templates: more is no template; there are order_paid\.txt, /),
      expect.stringMatching(/^email\.templates: orderpaid\.txt is no template/),
      'email.templates: order_paid.html has {{refund}}; there is {{order}}, {{amount}}',
      'email.templates: order_paid.html has {{ order }}; there is {{order}}, {{amount}}',
      'email.templates: order_paid.txt must begin with "Subject: ..." and an empty line',
      'email.templates: refund_failed.txt is alone; a mail has a text and an HTML form',
    ]);
  });

  it('are refused when their folder is not there', () => {
    removeDir(folder);
    expect(problemsOf()).toEqual([`email.templates: the folder ${folder} cannot be read`]);
  });
});
