/** Freezes plain objects and lists to the bottom. Other objects guard themselves. */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== Array.prototype) return value;
  for (const field of Object.values(value)) deepFreeze(field);
  return Object.freeze(value);
}

/** A map that can no longer be changed: `Object.freeze` alone leaves a map's entries open. Its values are frozen too. */
export function frozenMap<Key, Value>(entries: Iterable<readonly [Key, Value]>): ReadonlyMap<Key, Value> {
  const map = new Map(entries);
  for (const value of map.values()) deepFreeze(value);
  const refuse = (): never => {
    throw new TypeError('A configuration cannot be changed');
  };
  // Not enumerable, so that the map still prints and compares like any other.
  for (const method of ['set', 'delete', 'clear']) Object.defineProperty(map, method, { value: refuse });
  return Object.freeze(map);
}
