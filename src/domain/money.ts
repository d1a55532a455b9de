/**
 * Amounts are integers in the currency's minor unit as Stripe counts them, never floats, never strings.
 * Source of the exceptional currencies: docs.stripe.com/currencies (zero-decimal, three-decimal, special cases).
 */
const ZERO_DECIMAL = new Set([
  'bif', 'clp', 'djf', 'gnf', 'jpy', 'kmf', 'krw', 'mga', 'pyg', 'rwf', 'vnd', 'vuv', 'xaf', 'xof', 'xpf',
]); // prettier-ignore
const THREE_DECIMAL = new Set(['bhd', 'jod', 'kwd', 'omr', 'tnd']);

/** Whether a value from a payload can be an amount: a safe integer, not negative, and not negative zero. */
export function isMinorAmount(value: unknown): value is number {
  return Number.isSafeInteger(value) && !Object.is(value, -0) && (value as number) >= 0;
}

/** Digits after the point in Stripe's counting. ISK and UGX are sent times 100 although ISO gives them none. */
function currencyDecimals(currency: string): 0 | 2 | 3 {
  if (ZERO_DECIMAL.has(currency)) return 0;
  return THREE_DECIMAL.has(currency) ? 3 : 2;
}

/** `formatMinor(4200n, 'usd')` is `42.00 USD`. Exact: no floating point on the way. */
export function formatMinor(amountMinor: bigint, currency: string): string {
  const decimals = currencyDecimals(currency);
  const digits = amountMinor.toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  return `${whole}${decimals === 0 ? '' : `.${digits.slice(-decimals)}`} ${currency.toUpperCase()}`;
}
