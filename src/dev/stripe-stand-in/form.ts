/** Parameters as Stripe's API takes them: `metadata[order_id]=o_1` is a map within a map. All values are text. */
export type Params = { readonly [name: string]: string | Params };

/** Reads a form body or a query string. */
export function parseForm(text: string): Params {
  const params = emptyMap();
  for (const [name, value] of new URLSearchParams(text)) {
    const steps = [...name.matchAll(/[^[\]]+/g)].map(([step]) => step);
    put(params, steps, value);
  }
  return params;
}

/** The same text for the same parameters in whatever order they came. */
export function canonical(params: Params): string {
  const entries = Object.entries(params).map(([name, value]): [string, unknown] => [
    name,
    typeof value === 'string' ? value : canonical(value),
  ]);
  return JSON.stringify(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The value under a name where it is text. */
export function textOf(params: Params, name: string): string | null {
  const value = params[name];
  return typeof value === 'string' && value !== '' ? value : null;
}

/** A map of texts, such as metadata. */
export function mapOf(params: Params, name: string): Readonly<Record<string, string>> {
  const value = params[name];
  if (value === undefined || typeof value === 'string') return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

type Draft = { [name: string]: string | Draft };

/** Without a prototype: names come from the other side. */
function emptyMap(): Draft {
  return Object.create(null) as Draft;
}

function put(map: Draft, [step, ...rest]: readonly string[], value: string): void {
  if (step === undefined) return;
  if (rest.length === 0) {
    map[step] = value;
    return;
  }
  const known = map[step];
  const next = known === undefined || typeof known === 'string' ? emptyMap() : known;
  map[step] = next;
  put(next, rest, value);
}
