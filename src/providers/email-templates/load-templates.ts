import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '../../errors.js';
import type { EmailKind, EmailTemplates } from '../email.js';
import { escapeHtml, visible, type MailContent } from './template.js';

/** What a template may name, per mail; file names are these names with `.txt` and `.html`. */
const MAILS = {
  order_paid: { kind: 'orderPaid', names: ['order', 'amount'] },
  refund_succeeded: { kind: 'refundSucceeded', names: ['order', 'amount', 'refund'] },
  refund_failed: { kind: 'refundFailed', names: ['order', 'amount', 'refund'] },
} as const satisfies Readonly<Record<string, { readonly kind: EmailKind; readonly names: readonly string[] }>>;

type MailName = keyof typeof MAILS;

const SUBJECT = /^Subject: *(\S[^\n]*)\n\n/;
const PLACEHOLDER = /\{\{([^{}]*)\}\}/g;

/**
 * Reads one's own mail templates from a folder: for each mail that it replaces `{name}.txt`, which begins with a line
 * `Subject: ...` and an empty one, and `{name}.html`. `{{order}}`, `{{amount}}` and, in mails about refunds, `{{refund}}`
 * stand for the facts; in HTML they are escaped.
 * @throws ConfigError with every problem of every file at once
 */
export function loadMailTemplates(folder: string): Partial<EmailTemplates> {
  const problems: string[] = [];
  const files = listFiles(folder, problems);
  const known = Object.keys(MAILS).flatMap((name) => [`${name}.txt`, `${name}.html`]);
  for (const file of files.filter((name) => !known.includes(name))) {
    problems.push(`email.templates: ${join(folder, file)} is no template; there are ${known.join(', ')}`);
  }
  const templates = (Object.keys(MAILS) as MailName[]).flatMap((name) => {
    const present = [`${name}.txt`, `${name}.html`].filter((file) => files.includes(file));
    if (present.length === 0) return [];
    if (present.length === 1) {
      problems.push(`email.templates: ${join(folder, present[0] ?? '')} is alone; a mail has a text and an HTML form`);
      return [];
    }
    return [[MAILS[name].kind, loadOne(folder, name, problems)] as const];
  });
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.fromEntries(templates);
}

function listFiles(folder: string, problems: string[]): readonly string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    problems.push(`email.templates: the folder ${folder} cannot be read`);
    return [];
  }
}

interface Facts {
  readonly orderId: string;
  readonly amount: string;
  readonly refundId?: string;
}

function loadOne(folder: string, name: MailName, problems: string[]): (facts: Facts) => MailContent {
  const [text, html] = [`${name}.txt`, `${name}.html`].map((file) => {
    const path = join(folder, file);
    const content = readFileSync(path, 'utf8').replaceAll('\r\n', '\n');
    const names: readonly string[] = MAILS[name].names;
    for (const [placeholder, inner = ''] of content.matchAll(PLACEHOLDER)) {
      if (names.includes(inner)) continue;
      const legal = names.map((legalName) => `{{${legalName}}}`).join(', ');
      problems.push(`email.templates: ${path} has ${placeholder}; there is ${legal}`);
    }
    return content;
  }) as [string, string];
  const [head = '', subject = ''] = SUBJECT.exec(text) ?? [];
  if (subject === '') {
    problems.push(`email.templates: ${join(folder, `${name}.txt`)} must begin with "Subject: ..." and an empty line`);
  }
  const body = text.slice(head.length);
  return (facts) => ({
    subject: fill(subject, facts, (value) => value),
    text: fill(body, facts, (value) => value),
    html: fill(html, facts, escapeHtml),
  });
}

function fill(template: string, { orderId, amount, refundId = '' }: Facts, escape: (value: string) => string): string {
  const values = new Map([
    ['order', orderId],
    ['amount', amount],
    ['refund', refundId],
  ]);
  return template.replace(PLACEHOLDER, (_placeholder, name: string) => escape(visible(values.get(name) ?? '')));
}
