import { inspect } from 'node:util';

/** What stands for a secret wherever something prints it. */
const MASK = '[secret]';

/**
 * A value that only leaves through `reveal()`: printing, logging, JSON and string building all show a mask instead.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
    Object.freeze(this);
  }

  /** The value itself, for the one call that needs it. Never keep it in a field of your own. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [inspect.custom](): string {
    return MASK;
  }
}

/**
 * The secrets of one source. The one part of a configuration that may change while a process runs: whoever verifies
 * asks `current()` per delivery and never keeps the list.
 */
export class SecretHolder {
  #secrets: readonly Secret[];

  /** @param secrets all valid at once, in configured order; empty only where nothing is verified (commands) */
  constructor(secrets: readonly Secret[]) {
    this.#secrets = Object.freeze([...secrets]);
    Object.freeze(this); // what is private may still be replaced, by `replace` alone
  }

  /** Every secret that is valid now, in configured order. */
  current(): readonly Secret[] {
    return this.#secrets;
  }

  /**
   * Puts another list in force, whole and at once.
   * @throws RangeError for an empty list: a source without a secret would let anybody in, or nobody.
   */
  replace(secrets: readonly Secret[]): void {
    if (secrets.length === 0) throw new RangeError('A source must keep at least one secret');
    this.#secrets = Object.freeze([...secrets]);
  }

  toJSON(): readonly string[] {
    return this.#secrets.map(() => MASK);
  }

  [inspect.custom](): string {
    return `SecretHolder(${this.#secrets.length})`;
  }
}
