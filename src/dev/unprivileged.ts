import { execFileSync, spawnSync } from 'node:child_process';
import { DevStackError } from '../errors.js';

/** PostgreSQL refuses to run as root, so root runs it as somebody else. */
export interface RunAs {
  readonly uid: number;
  readonly gid: number;
}

/** The user `nobody` when we are root, else undefined: run as ourselves. */
export function unprivilegedUser(): RunAs | undefined {
  if (process.getuid?.() !== 0) return undefined;
  try {
    return { uid: idOfNobody('-u'), gid: idOfNobody('-g') };
  } catch (error) {
    throw new DevStackError(
      'PostgreSQL does not run as root and there is no user "nobody" to run it as: start as an ordinary user.',
      { cause: error },
    );
  }
}

/** Whether that user can enter the folder; tried, not computed, since access lists and mounts have a say too. */
export function canEnter(user: RunAs | undefined, dir: string): boolean {
  if (user === undefined) return true;
  const tried = spawnSync('/bin/sh', ['-c', 'cd -- "$1"', 'sh', dir], { ...user, cwd: '/', stdio: 'ignore' });
  return tried.status === 0;
}

function idOfNobody(flag: '-u' | '-g'): number {
  return Number.parseInt(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }), 10);
}
