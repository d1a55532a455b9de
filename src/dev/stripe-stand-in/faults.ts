/** What happens to one request, besides or instead of its answer. */
export type FaultEffect =
  /** The connection is reset; nothing is executed. */
  | { readonly kind: 'reset' }
  /** Executed, then the connection is reset. */
  | { readonly kind: 'lose-answer' }
  /** Never answered. */
  | { readonly kind: 'hang'; readonly executes: boolean }
  /** The execution takes this long, in milliseconds; its key is in flight meanwhile. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** Executed; the answer comes byte by byte and never to its end. */
  | { readonly kind: 'drip' }
  /** Executed; half of the answer comes, then the end. */
  | { readonly kind: 'truncated' }
  /** A 500 that is kept under the key; what was asked for may have been done all the same. */
  | { readonly kind: 'stored-500'; readonly executes: boolean }
  /** Executed, and a proxy answers with its own page. */
  | { readonly kind: 'non-json' }
  /** Executed, and the answer is another object's. */
  | { readonly kind: 'other-object' }
  /** Refused before the idempotency layer: nothing is executed or kept. */
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly code?: string;
      readonly headers?: Readonly<Record<string, string>>;
    };

export type Fault = FaultEffect & {
  /** Only for requests of this method. */
  readonly method?: 'GET' | 'POST';
  /** Only for paths that begin so. */
  readonly path?: string;
  /** How many requests it meets; 1 by default. */
  readonly times?: number;
};

export interface FaultScript {
  readonly set: (faults: readonly Fault[]) => void;
  /** The first fault that fits the request, used up by it. */
  readonly take: (method: string, path: string) => FaultEffect | null;
}

export function createFaultScript(): FaultScript {
  let script: { readonly fault: Fault; left: number }[] = [];
  return {
    set: (faults) => {
      script = faults.map((fault) => ({ fault, left: fault.times ?? 1 }));
    },
    take: (method, path) => {
      const found = script.find(
        ({ fault, left }) =>
          left > 0 && (fault.method ?? method) === method && (fault.path === undefined || path.startsWith(fault.path)),
      );
      if (found === undefined) return null;
      found.left -= 1;
      return found.fault;
    },
  };
}
