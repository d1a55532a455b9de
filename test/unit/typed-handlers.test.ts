import type Stripe from 'stripe';
import { describe, expect, expectTypeOf, it } from 'vitest';
import {
  applied,
  defineHandlers,
  defineStripeHandlers,
  ignored,
  typedHandlers,
  type GithubEvents,
  type Transaction,
} from '../../src/index.js';

interface UserCreated {
  readonly type: 'user.created';
  readonly data: { readonly email: string };
}

interface OctokitLike {
  push: { readonly ref: string };
  issues: { readonly action: 'opened'; readonly issue: number } | { readonly action: 'closed'; readonly why: string };
}

describe('typed handlers', () => {
  it("know Stripe's objects, and let in types that the SDK does not know", () => {
    const set = defineStripeHandlers({
      'payment_intent.succeeded': (event, tx) => {
        expectTypeOf(event.payload.data.object).toEqualTypeOf<Stripe.PaymentIntent>();
        expectTypeOf(event.eventId).toBeString();
        expectTypeOf(tx).toEqualTypeOf<Transaction>();
        return applied();
      },
      'customer.subscription.updated': [
        (event) => {
          expectTypeOf(event.payload.data.object).toEqualTypeOf<Stripe.Subscription>();
          return ignored();
        },
      ],
      'thing.of_next_year': (event) => {
        expectTypeOf(event.payload).toBeUnknown();
        return ignored();
      },
    });
    expect([...set.handlers.keys()]).toEqual([
      'payment_intent.succeeded',
      'customer.subscription.updated',
      'thing.of_next_year',
    ]);
  });

  it("take one's own list of payloads", () => {
    const define = typedHandlers<{ 'user.created': UserCreated }>();
    define({
      'user.created': (event) => {
        expectTypeOf(event.payload).toEqualTypeOf<UserCreated>();
        return applied();
      },
      other: (event) => {
        expectTypeOf(event.payload).toBeUnknown();
        return ignored();
      },
    });
    // @ts-expect-error a handler must answer with an outcome
    define({ 'user.created': () => 'done' });
    // @ts-expect-error of a type that is not listed nothing is known
    define({ other: (event) => (event.payload.data === 1 ? applied() : ignored()) });
  });

  it('give GitHub events the types that oncehook stores them under', () => {
    typedHandlers<GithubEvents<OctokitLike>>()({
      push: (event) => {
        expectTypeOf(event.payload.ref).toBeString();
        return applied();
      },
      'issues.closed': (event) => {
        expectTypeOf(event.payload.why).toBeString();
        return applied();
      },
    });
  });
});

describe('a type without a handler', () => {
  const without: [string, unknown][] = [
    ['undefined', undefined],
    ['null', null],
    ['an empty list', []],
    ['a list with undefined in it', [() => applied(), undefined]],
    ['a list with a hole', new Array(1)],
    ['a name', 'handlePaid'],
  ];
  it.each(without)('is told where the set is built: %s', (_name, value) => {
    for (const define of [defineHandlers, typedHandlers<{ 'user.created': UserCreated }>(), defineStripeHandlers]) {
      const build = (): unknown => define({ 'invoice.paid': () => applied(), 'x.y': value as never });
      expect(build).toThrow(TypeError);
      expect(build).toThrow('The handler for "x.y" is not a function');
    }
  });
});
