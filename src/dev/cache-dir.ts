import { chmodSync, lstatSync, mkdirSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { DevStackError } from '../errors.js';

/**
 * The folder outside the project where what is expensive to get is kept between clones: the first that can be made and
 * that `suits` (for instance: that another user can enter). Everyone may read it, only we may write.
 */
export function cacheDir(env: NodeJS.ProcessEnv, suits: (dir: string) => boolean = () => true): string {
  const tried: string[] = [];
  for (const dir of candidates(env)) {
    if (makeOwnDir(dir) && suits(dir)) return dir;
    tried.push(dir);
  }
  throw new DevStackError(
    `No folder for cached programs can be used (tried ${tried.join(', ')}): set XDG_CACHE_HOME to one that can be written.`,
  );
}

function candidates(env: NodeJS.ProcessEnv): string[] {
  const xdg = env.XDG_CACHE_HOME;
  const own = xdg !== undefined && isAbsolute(xdg) ? xdg : join(env.HOME ?? homedir(), '.cache');
  const user = process.getuid?.() ?? 0;
  return [
    join(own, 'oncehook'),
    ...(user === 0 ? ['/var/cache/oncehook'] : []),
    join(tmpdir(), `oncehook-cache-${user}`),
  ];
}

/** A folder under a shared one such as /tmp may have been put there by somebody else: programs are run from here, so that is refused. */
function makeOwnDir(dir: string): boolean {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o755 });
    const found = lstatSync(dir);
    if (!found.isDirectory() || found.uid !== (process.getuid?.() ?? found.uid)) return false;
    chmodSync(dir, 0o755); // a strict umask would keep the database's user out
    return true;
  } catch {
    return false;
  }
}
