/** Bytes of one request's body that count against the common bound, until it is released. */
export interface BodyReservation {
  /** Raises the reservation to `bytes` in all. `false` when that would go over the bound; nothing changes then. */
  growTo(bytes: number): boolean;
  /** Gives everything back; further calls do nothing. */
  release(): void;
}

/** The bound on all bodies in memory at once. Who is turned away by it comes again; an exhausted heap ends everybody. */
export interface BodyMemory {
  reserve(): BodyReservation;
}

/** @param onChange hears how many bytes are taken now */
export function createBodyMemory(maxBytes: number, onChange: (bytes: number) => void): BodyMemory {
  let taken = 0;
  const change = (bytes: number): void => {
    taken += bytes;
    onChange(taken);
  };
  return {
    reserve: () => {
      let held = 0;
      let released = false;
      return {
        growTo: (bytes) => {
          if (released || taken - held + bytes > maxBytes) return false;
          change(bytes - held);
          held = bytes;
          return true;
        },
        release: () => {
          if (released) return;
          released = true;
          change(-held);
        },
      };
    },
  };
}
