/** What libpq and its likes read beside a URL, and what of a URL it comes from. */
const PARTS = [
  ['PGHOST', (url: URL) => url.searchParams.get('host') ?? url.hostname],
  ['PGPORT', (url: URL) => url.port],
  ['PGUSER', (url: URL) => decodeURIComponent(url.username)],
  ['PGPASSWORD', (url: URL) => decodeURIComponent(url.password)],
  ['PGDATABASE', (url: URL) => decodeURIComponent(url.pathname.slice(1))],
] as const;

/**
 * Points `DATABASE_URL`, the `PG*` variables and every other variable that holds a PostgreSQL URL at one database. A part
 * that its URL leaves out stays as it is, since the URL is completed by the same variables.
 * @returns undoes that
 */
export function pointEnvironmentAt(databaseUrl: string, env: NodeJS.ProcessEnv): () => void {
  const before = { ...env };
  const url = new URL(databaseUrl);
  for (const [name, value] of Object.entries(before)) {
    if (/^postgres(?:ql)?:/i.test(value ?? '')) env[name] = databaseUrl;
  }
  env.DATABASE_URL = databaseUrl;
  // A service would name host and database again.
  delete env.PGSERVICE;
  for (const [name, partOf] of PARTS) {
    const part = partOf(url);
    if (part !== '') env[name] = part;
  }
  return () => {
    for (const name of Object.keys(env)) if (!(name in before)) Reflect.deleteProperty(env, name);
    Object.assign(env, before);
  };
}
