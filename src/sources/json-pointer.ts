/**
 * The value at a JSON pointer (RFC 6901), by own fields only: `constructor` exists on every object.
 * @param pointer as the configuration has checked it
 * @returns `undefined` when there is none
 */
export function atPointer(value: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>(child, value);
}

function child(value: unknown, step: string): unknown {
  if (Array.isArray(value)) return /^(0|[1-9][0-9]{0,8})$/.test(step) ? (value[Number(step)] as unknown) : undefined;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[step];
}
