import { z } from 'zod';
import { DEFAULTS } from './defaults.js';
import { nearName } from './near-name.js';
import { anyDuration, duration, filledText, positiveInteger, reference, saying, sourceName } from './field-schemas.js';
import { sourceSchema } from './source-schemas.js';

const policy = z.enum(['refund', 'quarantine']);

const ordersSchema = z.strictObject({
  unknownOrderHorizon: duration.optional().meta({
    description: 'How long an event waits for an order that is not stored yet, before it is quarantined.',
    default: DEFAULTS.orders.unknownOrderHorizon,
  }),
  firstWait: duration.optional().meta({
    description: 'The first wait; the next are 6, 24 and 120 times as long, each at most maxWait.',
    default: DEFAULTS.orders.firstWait,
  }),
  maxWait: duration.optional().meta({ description: 'The longest single wait.', default: DEFAULTS.orders.maxWait }),
  latePayment: policy
    .optional()
    .meta({ description: 'A payment of a canceled order.', default: DEFAULTS.orders.latePayment }),
  secondPayment: policy
    .optional()
    .meta({ description: 'A second payment of one order.', default: DEFAULTS.orders.secondPayment }),
  overpaid: policy
    .optional()
    .meta({ description: 'More paid than the order asks for.', default: DEFAULTS.orders.overpaid }),
});

const effectMode = z.enum(['auto', 'propose', 'off']);
const perHour = positiveInteger.optional();

const brake = (mode: 'auto' | 'propose', noun: string) =>
  z.strictObject({
    mode: effectMode.optional().meta({ default: mode }),
    perHour: perHour.meta({ description: `Above it ${noun} wait for approval.` }),
  });

const ownEffect = z.strictObject(
  {
    mode: effectMode.optional().meta({ default: 'auto' }),
    maxAmountMinor: positiveInteger.optional().meta({
      description: 'A larger one waits for approval; in the smallest unit of its currency.',
    }),
    perHour: perHour.meta({ description: 'Above it they wait for approval.' }),
  },
  {
    error: ({ code }) =>
      code === 'invalid_type' ? 'unknown key; a kind of your own would have a map of settings' : undefined,
  },
);

const effectsShape = {
  refund: z
    .strictObject({
      mode: effectMode.optional().meta({ default: DEFAULTS.effects.refund.mode }),
      maxAmountMinor: positiveInteger.optional().meta({
        description: 'A larger refund waits for approval; in the smallest unit of its currency.',
        default: DEFAULTS.effects.refund.maxAmountMinor,
      }),
      perHour: perHour.meta({
        description: 'Above it refunds wait for approval.',
        default: DEFAULTS.effects.refund.perHour,
      }),
    })
    .optional(),
  cancel_payment_intent: brake(DEFAULTS.effects.cancel_payment_intent.mode, 'cancellations').optional(),
  email: brake(DEFAULTS.effects.email.mode, 'mails').optional(),
};

/** Any other key names a kind of an application's own, unless it looks like a slip; workers know which there are. */
const effectsSchema = z
  .object(effectsShape)
  .catchall(ownEffect)
  .superRefine((effects, context) => {
    for (const key of Object.keys(effects)) {
      const message = ownKindFault(key);
      if (message !== undefined) context.addIssue({ code: 'custom', path: [key], message });
    }
  });

function ownKindFault(key: string): string | undefined {
  const known = Object.keys(effectsShape);
  if (known.includes(key)) return undefined;
  const near = nearName(key, known);
  if (near !== undefined) return `unknown key; did you mean ${near}?`;
  return /^[a-z][a-z0-9_]{0,62}$/.test(key) ? undefined : 'unknown key; a kind of effect is lower snake case';
}

/** Which promise a kind of mail makes when an answer is lost: at least once, at most once, or no mail. */
const mailPolicy = z.enum(['resend', 'hold', 'off']);

const emailSchema = z.strictObject({
  orderPaid: mailPolicy.optional().meta({ description: 'To the customer.', default: DEFAULTS.email.orderPaid }),
  refundSucceeded: mailPolicy
    .optional()
    .meta({ description: 'To the customer.', default: DEFAULTS.email.refundSucceeded }),
  refundFailed: mailPolicy.optional().meta({ description: 'To the merchant.', default: DEFAULTS.email.refundFailed }),
  merchant: reference.optional().meta({ description: 'Address for mails to the merchant, or "${NAME}".' }),
  templates: filledText.optional().meta({
    description: "Folder with one's own mail templates: {name}.txt and {name}.html. Default: the built-in ones.",
  }),
  giveUpAfter: duration.optional().meta({
    description: 'How long a mail that the server does not take is tried.',
    default: DEFAULTS.email.giveUpAfter,
  }),
});

/** The whole of `oncehook.yaml`, and of the same configuration given in code. */
export const documentSchema = z.strictObject({
  version: z
    .literal(1, { error: ({ input }) => (input === undefined ? 'is missing; write version: 1' : 'must be 1') })
    .meta({ description: 'Version of this format.' }),
  sources: z
    .record(sourceName, sourceSchema, { error: saying('must map source names to their settings') })
    .meta({ description: 'By name; a sender posts to /webhooks/{name}.' }),
  orders: ordersSchema.optional().meta({ description: 'Waits and policies of the orders handler set.' }),
  effects: effectsSchema.optional().meta({ description: 'Brakes per kind of effect.' }),
  email: emailSchema
    .optional()
    .meta({ description: 'Per kind of mail: resend (at least once), hold (at most once), off.' }),
  calendar: z
    .strictObject({ url: reference })
    .optional()
    .meta({ description: 'Where the calendar handler set pushes to.' }),
  maxBodyMemory: positiveInteger
    .optional()
    .meta({ description: 'Bound on all bodies in memory at once, in bytes.', default: DEFAULTS.maxBodyMemory }),
  dispatch: z
    .strictObject({
      startsPerSecond: positiveInteger
        .optional()
        .meta({ description: 'Workflow starts per worker.', default: DEFAULTS.dispatch.startsPerSecond }),
    })
    .optional()
    .meta({ description: 'The pace of a backlog.' }),
  retention: z
    .strictObject({
      payload: anyDuration
        .optional()
        .meta({ description: '0d drops a payload when its event is done.', default: DEFAULTS.retention.payload }),
      inbox: duration
        .optional()
        .meta({ description: 'After completion; at least 31d.', default: DEFAULTS.retention.inbox }),
    })
    .optional()
    .meta({ description: 'How long what is kept.' }),
});

/** What a document may say, as code writes it. */
export type ConfigDocument = ReadonlyDeep<z.input<typeof documentSchema>>;

/** Nobody changes a document: what is written `as const` is as good as any. */
type ReadonlyDeep<Value> = Value extends object ? { readonly [Key in keyof Value]: ReadonlyDeep<Value[Key]> } : Value;

/** What a checked document says: durations are milliseconds, times are dates, header names lower case. */
export type CheckedDocument = z.output<typeof documentSchema>;
export type CheckedSource = CheckedDocument['sources'][string];

/** The maps of a document besides `sources`, each checked on its own where another part of it is broken. */
export const BLOCK_SCHEMAS = {
  orders: ordersSchema,
  effects: effectsSchema,
  email: emailSchema,
  retention: documentSchema.shape.retention.unwrap(),
} as const;
