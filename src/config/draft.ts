import { z } from 'zod';
import { BLOCK_SCHEMAS } from './document-schema.js';
import type { DocumentPath, Problem } from './problem.js';
import { SOURCE_SCHEMAS, type SourceKind } from './source-schemas.js';

type FieldsOf<Kind extends SourceKind> = Omit<z.output<(typeof SOURCE_SCHEMAS)[Kind]>, 'kind'>;

/** A source's fields that are well-formed, whatever is wrong with the others. */
export type SourceDraft = { readonly kind: SourceKind; readonly name: string } & Partial<
  FieldsOf<'stripe'> & FieldsOf<'github'> & FieldsOf<'standard-webhooks'> & FieldsOf<'hmac'>
>;

/**
 * The well-formed parts of a document. Rules that concern several fields, the environment or files work on it, so that
 * a mistyped key in one place does not hide an empty secret in another.
 */
export interface Draft {
  /** Those whose kind is known, in order. */
  readonly sources: readonly SourceDraft[];
  readonly orders: Partial<z.output<(typeof BLOCK_SCHEMAS)['orders']>>;
  readonly effects: Partial<z.output<(typeof BLOCK_SCHEMAS)['effects']>>;
  readonly email: Partial<z.output<(typeof BLOCK_SCHEMAS)['email']>>;
  readonly retention: Partial<z.output<(typeof BLOCK_SCHEMAS)['retention']>>;
  readonly calendarUrl: string | undefined;
  readonly maxBodyMemory: number | undefined;
  /** Whether nothing is wrong at a path or below it. A rule must not judge by a default where something else was meant. */
  readonly isSound: (path: DocumentPath) => boolean;
}

/** Takes from a document what `problems` do not touch. */
export function draftOf(document: unknown, problems: readonly Problem[]): Draft {
  const isSound = (path: DocumentPath): boolean => !problems.some((problem) => touches(problem, path));
  const block = <Schema extends z.ZodObject>(name: string, schema: Schema): Partial<z.output<Schema>> =>
    soundFields(schema, fieldOf(document, name), [name], isSound);
  const memory = fieldOf(document, 'maxBodyMemory');
  const calendarUrl = fieldOf(fieldOf(document, 'calendar'), 'url');
  return {
    sources: sourceDrafts(fieldOf(document, 'sources'), isSound),
    orders: block('orders', BLOCK_SCHEMAS.orders),
    effects: block('effects', BLOCK_SCHEMAS.effects),
    email: block('email', BLOCK_SCHEMAS.email),
    retention: block('retention', BLOCK_SCHEMAS.retention),
    calendarUrl: typeof calendarUrl === 'string' ? calendarUrl : undefined,
    maxBodyMemory: typeof memory === 'number' && isSound(['maxBodyMemory']) ? memory : undefined,
    isSound,
  };
}

type IsSound = (path: DocumentPath) => boolean;

function sourceDrafts(sources: unknown, isSound: IsSound): SourceDraft[] {
  return entriesOf(sources).flatMap(([name, raw]) => {
    const kind = kindOf(raw);
    if (kind === undefined) return [];
    const fields = soundFields(SOURCE_SCHEMAS[kind], raw, ['sources', name], isSound);
    return [{ ...fields, kind, name }];
  });
}

function kindOf(raw: unknown): SourceKind | undefined {
  const kind = fieldOf(raw, 'kind');
  return typeof kind === 'string' && Object.hasOwn(SOURCE_SCHEMAS, kind) ? (kind as SourceKind) : undefined; // just looked
}

function soundFields<Schema extends z.ZodObject>(
  schema: Schema,
  raw: unknown,
  path: DocumentPath,
  isSound: IsSound,
): Partial<z.output<Schema>> {
  const shape: Readonly<Record<string, z.core.$ZodType>> = schema.shape;
  const fields = entriesOf(raw).flatMap(([key, value]): [string, unknown][] => {
    const field = Object.hasOwn(shape, key) ? shape[key] : undefined;
    if (field === undefined || !isSound([...path, key])) return [];
    const result = z.safeParse(field, value);
    return result.success ? [[key, result.data]] : [];
  });
  // Each field as its own schema gave it.
  return Object.fromEntries(fields) as Partial<z.output<Schema>>;
}

/** Whether a problem lies at the path or below it. */
function touches(problem: Problem, path: DocumentPath): boolean {
  return problem.at === 'document' && path.every((step, index) => problem.path[index] === step);
}

function fieldOf(value: unknown, key: string): unknown {
  return entriesOf(value).find(([candidate]) => candidate === key)?.[1];
}

function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
}
