import type { AnyOperationDefinition } from '../../src/index.js';

/** A schema that takes what it gets; a real one would check it. */
export function anyObject<Params>(): AnyOperationDefinition['params'] & {
  readonly '~standard': { readonly validate: (value: unknown) => { readonly value: Params } };
} {
  return { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: value as Params }) } };
}
