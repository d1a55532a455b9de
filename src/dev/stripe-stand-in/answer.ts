/** What a request is answered with, before any fault has its way with it. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A refusal in the form of Stripe's API (docs.stripe.com/api/errors). */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly details: {
      readonly type: 'invalid_request_error' | 'card_error' | 'idempotency_error' | 'api_error';
      readonly code?: string;
      readonly param?: string;
      readonly payment_intent?: unknown;
    },
    message: string,
    /** Whether execution had begun, so that the answer is kept under the request's idempotency key. */
    readonly isStored: boolean,
  ) {
    super(message);
    this.name = 'Refusal';
  }

  answer(): Answer {
    return { status: this.status, body: { error: { ...this.details, message: this.message } } };
  }
}

/** Parameters that Stripe would not begin to execute; kept under no key. */
export function invalid(message: string, param?: string, code?: string): Refusal {
  const details = { type: 'invalid_request_error' as const, ...(param && { param }), ...(code && { code }) };
  return new Refusal(400, details, message, false);
}

/** What the object's own state forbids; found out while executing. */
export function forbidden(code: string, message: string, paymentIntent?: unknown): Refusal {
  const more = paymentIntent === undefined ? {} : { payment_intent: paymentIntent };
  return new Refusal(400, { type: 'invalid_request_error', code, ...more }, message, true);
}

export function missing(what: string, id: string): Refusal {
  const details = { type: 'invalid_request_error', code: 'resource_missing', param: 'id' } as const;
  return new Refusal(404, details, `No such ${what}: '${id}'`, false);
}
