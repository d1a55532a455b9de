import type { AnyOperationDefinition } from '../api/operations.js';

export type ParsedParams =
  | { readonly kind: 'ok'; readonly params: unknown }
  /** `problem` may quote values: for the application's own database only. */
  | { readonly kind: 'invalid'; readonly problem: string };

/** The only way of parameters into a definition's functions: through its own schema. A schema that throws refuses. */
export async function parseParams(definition: AnyOperationDefinition, value: unknown): Promise<ParsedParams> {
  try {
    const result = await definition.params['~standard'].validate(value);
    if (result.issues === undefined) return { kind: 'ok', params: result.value };
    return { kind: 'invalid', problem: result.issues.map(({ message }) => message).join('; ') };
  } catch (error) {
    return { kind: 'invalid', problem: `the schema threw ${error instanceof Error ? error.name : typeof error}` };
  }
}
