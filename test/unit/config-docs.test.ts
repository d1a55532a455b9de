import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEFAULTS } from '../../src/config/defaults.js';
import { configJsonSchema } from '../../src/config/json-schema.js';
import { ROOT } from '../support/dist.js';

const PAGE = readFileSync(join(ROOT, 'docs/configuration.md'), 'utf8');
const EXAMPLE = readFileSync(join(ROOT, 'oncehook.example.yaml'), 'utf8');

/** Every property name that the schema knows, at any depth. */
function keysOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([key, value]: [string, unknown]) => [
    ...(key === 'properties' && typeof value === 'object' && value !== null ? Object.keys(value) : []),
    ...keysOf(value),
  ]);
}

describe('docs/configuration.md', () => {
  const keys = [...new Set(keysOf(configJsonSchema()))];

  it.each(keys)('explains %s, and the example shows it', (key) => {
    expect(PAGE).toMatch(new RegExp(`[\`.{ ]${key}[\`,} ]`));
    expect(EXAMPLE).toMatch(new RegExp(`\\b${key}:[ \\n]`));
  });

  it.each([
    ['tolerance', DEFAULTS.source.tolerance],
    ['unknownOrderHorizon', DEFAULTS.orders.unknownOrderHorizon],
    ['firstWait', DEFAULTS.orders.firstWait],
    ['maxWait', DEFAULTS.orders.maxWait],
    ['latePayment', DEFAULTS.orders.latePayment],
    ['secondPayment', DEFAULTS.orders.secondPayment],
    ['overpaid', DEFAULTS.orders.overpaid],
    ['refund.mode', DEFAULTS.effects.refund.mode],
    ['refund.maxAmountMinor', DEFAULTS.effects.refund.maxAmountMinor],
    ['refund.perHour', DEFAULTS.effects.refund.perHour],
    ['email.mode', DEFAULTS.effects.email.mode],
    ['orderPaid', DEFAULTS.email.orderPaid],
    ['giveUpAfter', DEFAULTS.email.giveUpAfter],
    ['maxBodyMemory', DEFAULTS.maxBodyMemory],
    ['dispatch.startsPerSecond', DEFAULTS.dispatch.startsPerSecond],
    ['retention.payload', DEFAULTS.retention.payload],
    ['retention.inbox', DEFAULTS.retention.inbox],
  ])('gives the default of %s as it is', (key, value) => {
    expect(PAGE).toContain(`| \`${key}\` | \`${value}\` |`);
  });

  it('explains every variable that is read', () => {
    const source = readFileSync(join(ROOT, 'src/config/environment.ts'), 'utf8');
    const variables = [...source.matchAll(/read\('([A-Z_]+)'/g)].map(([, name = '']) => name);
    expect(variables.length).toBeGreaterThan(10);
    for (const variable of variables) expect(PAGE).toMatch(new RegExp(`\`${variable}\``));
  });
});
