import type { AnyOperationDefinition } from '../api/operations.js';
import { ConfigError } from '../errors.js';

/** The kinds of effects that a worker can make. */
export interface OperationRegistry {
  get(kind: string): AnyOperationDefinition | undefined;
  /** In the order in which they were given. */
  readonly kinds: readonly string[];
}

/** @throws ConfigError naming every kind that was defined more than once. */
export function createOperationRegistry(definitions: readonly AnyOperationDefinition[]): OperationRegistry {
  const byKind = new Map(definitions.map((definition) => [definition.kind, definition]));
  const kinds = [...byKind.keys()];
  const doubled = kinds.filter((kind) => definitions.filter((definition) => definition.kind === kind).length > 1);
  if (doubled.length > 0) {
    throw new ConfigError(doubled.map((kind) => `The operation kind "${kind}" is defined more than once`));
  }
  return { get: (kind) => byKind.get(kind), kinds };
}
