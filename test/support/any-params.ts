import type { ParamsSchema } from '../../src/index.js';

/** A params schema that takes every JSON object as it is. */
export const anyParams: ParamsSchema<Readonly<Record<string, unknown>>> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => ({ value: value as Readonly<Record<string, unknown>> }),
  },
};
