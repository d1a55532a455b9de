import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DevStackError } from '../errors.js';
import { takeLock } from './owner-lock.js';

/** The folder of one local stack, held by us as long as we live. */
export interface DevDir {
  readonly path: string;
  release(): void;
}

/** Makes the folder if need be, `.oncehook` for an empty name. Throws when another live process runs a stack in it. */
export function openDevDir(dir: string): DevDir {
  const path = resolve(dir === '' ? '.oncehook' : dir);
  try {
    mkdirSync(path, { recursive: true });
    // Others have nothing to look for here; root's database user must get through to its data, though.
    chmodSync(path, process.getuid?.() === 0 ? 0o711 : 0o700);
  } catch (error) {
    throw new DevStackError(`${path} cannot be written: set ONCEHOOK_DEV_DIR to a folder that can.`, { cause: error });
  }
  const lock = takeLock(join(path, 'owner'));
  if (lock.taken) return { path, release: lock.release };
  throw new DevStackError(
    `A local stack runs in ${path} already (process ${lock.heldBy}): stop it first, or set ONCEHOOK_DEV_DIR to another folder (and PORT, ADMIN_PORT to other ports) for a second one.`,
  );
}

/** A signing secret for the source `stripe`, made at the first start and kept. */
export function keptWebhookSecret({ path }: DevDir): string {
  const file = webhookSecretFile(path);
  if (existsSync(file)) return readFileSync(file, 'utf8');
  const secret = `whsec_${randomBytes(24).toString('hex')}`;
  writeFileSync(file, secret, { mode: 0o600 });
  return secret;
}

/** Where `keptWebhookSecret` keeps it, in the stack's folder. */
export function webhookSecretFile(path: string): string {
  return join(path, 'webhook-secret');
}
