import { z } from 'zod';
import { DEFAULTS } from './defaults.js';
import {
  account,
  contentType,
  duration,
  filledText,
  handlerSetName,
  headerName,
  instant,
  jsonPointer,
  positiveInteger,
  reference,
  saying,
  tenant,
  text,
  typePattern,
} from './field-schemas.js';

const common = {
  secrets: z
    .array(reference, {
      error: ({ input }) =>
        input === undefined
          ? 'a source must have at least one secret'
          : 'must be a list of texts such as ["${STRIPE_WEBHOOK_SECRET}"]',
    })
    .min(1, { error: 'a source must have at least one secret' })
    .max(32, { error: 'must be at most 32 secrets: each is tried on every delivery' })
    .meta({
      description:
        'All valid at once, for rotation. Each "${NAME}" (environment) or "${file:/path}"; a literal secret is refused.',
    }),
  account: account
    .optional()
    .meta({ description: "Part of the scope. Default: `default` for stripe, the source's name for other kinds." }),
  tenant: tenant
    .optional()
    .meta({ description: 'Whose orders this source speaks of.', default: DEFAULTS.source.tenant }),
  ignore: z
    .array(typePattern, { error: saying('must be a list of event types such as ["invoice.*"]') })
    .optional()
    .meta({ description: 'Event types that are done on receipt, without a workflow. `*` stands for any characters.' }),
  handlers: handlerSetName.optional().meta({
    description: 'orders, ledger, calendar, none, or a set registered in code. Default: orders for stripe, else none.',
  }),
  shadow: z
    .boolean({ error: saying('must be true or false') })
    .optional()
    .meta({ description: 'Decide and record, do nothing.', default: false }),
  activeFrom: instant.optional().meta({ description: 'Events that happened before this are stored, not acted on.' }),
  response: z
    .strictObject({
      body: text
        .max(4_096, { error: 'must be at most 4096 characters' })
        .meta({ description: 'The body of every 200.' }),
      contentType: contentType.optional().meta({ default: DEFAULTS.source.contentType }),
    })
    .optional()
    .meta({ description: 'Another answer than {"status":"accepted"}, for senders that read it.' }),
  maxBodyBytes: positiveInteger
    .optional()
    .meta({ description: 'Cap on the bytes of one body. Default: 1048576, for github 26214400.' }),
};

const tolerance = duration.optional().meta({
  description: "How far the signed time may lie from the receiver's clock, in both directions.",
  default: DEFAULTS.source.tolerance,
});

const rateLimit = z
  .strictObject({
    perSecond: positiveInteger,
    burst: positiveInteger.optional().meta({ description: 'How many may come at once. Default: perSecond.' }),
  })
  .optional()
  .meta({ description: 'Of verified deliveries; above it the answer is 429. Off by default.' });

const equalBodies = z.enum(['suspicious', 'normal']).optional().meta({
  description: 'What the same body under another ID is, where the ID is not signed.',
  default: DEFAULTS.source.equalBodies,
});

const stripeSchema = z.strictObject({
  kind: z.literal('stripe'),
  ...common,
  mode: z
    .enum(['live', 'test', 'any'])
    .optional()
    .meta({ description: 'Events of another mode are quarantined.', default: DEFAULTS.source.mode }),
  accounts: z
    .record(account, tenant, { error: saying('must map accounts to tenants, such as { acct_9: tenant-9 }') })
    .optional()
    .meta({ description: 'Connect: connected account to tenant.' }),
  apiKey: reference.optional().meta({ description: 'Used by the worker only. "${NAME}" or "${file:/path}".' }),
  owns: z
    .strictObject({
      metadata: z
        .record(z.string(), text, {
          error: saying('must map metadata keys to texts, such as { app: shop }'),
        })
        .refine((metadata) => Object.keys(metadata).length > 0, { error: 'must name at least one key' }),
    })
    .optional()
    .meta({ description: 'In an account shared with other integrations: whose objects are ours.' }),
  tolerance,
  rateLimit,
});

const githubSchema = z.strictObject({ kind: z.literal('github'), ...common, equalBodies });

const standardWebhooksSchema = z.strictObject({
  kind: z.literal('standard-webhooks'),
  ...common,
  tolerance,
  rateLimit,
});

const TEMPLATE_SAYING = 'must have {body} once, else only {timestamp}, {id} and literal text';

const signatureSchema = z.strictObject({
  header: headerName,
  algorithm: z.enum(['sha256', 'sha512']).optional().meta({ default: 'sha256' }),
  encoding: z.enum(['hex', 'base64']).optional().meta({ default: 'hex' }),
  prefix: text.optional().meta({ description: 'Before the signature, such as "v0=".' }),
  signed: z
    .string({ error: saying(TEMPLATE_SAYING) })
    .refine(isTemplate, { error: TEMPLATE_SAYING })
    .optional()
    .meta({ description: 'What is signed, of {body}, {timestamp} and {id}.', default: '{body}' }),
  timestamp: z
    .strictObject({ header: headerName, unit: z.enum(['s', 'ms']).optional().meta({ default: 's' }) })
    .optional()
    .meta({ description: 'Where the signed time is, if in a header of its own.' }),
  fields: z
    .strictObject({
      separator: filledText.max(8, { error: 'must be at most 8 characters' }),
      timestamp: filledText.optional(),
      signature: filledText,
    })
    .optional()
    .meta({ description: 'One header with several name=value parts.' }),
});

const hmacSchema = z.strictObject({
  kind: z.literal('hmac'),
  ...common,
  secretEncoding: z.enum(['utf8', 'hex', 'base64']).optional().meta({ default: DEFAULTS.source.secretEncoding }),
  signature: signatureSchema,
  eventId: z
    .union([
      z.strictObject({ header: headerName }),
      z.strictObject({ body: jsonPointer, type: z.enum(['string', 'integer']).optional().meta({ default: 'string' }) }),
      z.strictObject({
        derived: z
          .array(jsonPointer, { error: saying('must be a list of JSON pointers such as [/order/id, /status]') })
          .min(1, { error: 'must name at least one field' })
          .refine((pointers) => new Set(pointers).size === pointers.length, { error: 'names a field twice' }),
      }),
    ])
    .meta({ description: 'Where the event ID is: a header, a field of the body, or several stable fields together.' }),
  eventType: z
    .union([z.strictObject({ header: headerName }), z.strictObject({ body: jsonPointer })])
    .meta({ description: 'Where the event type is.' }),
  challenge: z
    .strictObject({
      when: z.strictObject({ pointer: jsonPointer, equals: text }),
      answer: jsonPointer,
    })
    .optional()
    .meta({ description: 'A verified body that is a question, and the field that is its answer.' }),
  equalBodies,
  tolerance,
  rateLimit,
});

export const SOURCE_SCHEMAS = {
  stripe: stripeSchema,
  github: githubSchema,
  'standard-webhooks': standardWebhooksSchema,
  hmac: hmacSchema,
} as const;

export type SourceKind = keyof typeof SOURCE_SCHEMAS;

export const sourceSchema = z.discriminatedUnion('kind', [
  stripeSchema,
  githubSchema,
  standardWebhooksSchema,
  hmacSchema,
]);

function isTemplate(template: string): boolean {
  const rest = template.replaceAll('{timestamp}', '').replaceAll('{id}', '');
  const parts = rest.split('{body}');
  return parts.length === 2 && !/[{}]/.test(parts.join(''));
}
