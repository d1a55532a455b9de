import type { ParamsSchema } from '../../src/index.js';

/** A schema that takes what it gets; a real one would check it. */
export function takeAnything<Params>(read: (value: unknown) => Params): ParamsSchema<Params> {
  return { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: read(value) }) } };
}
