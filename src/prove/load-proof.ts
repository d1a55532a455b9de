import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { createJiti } from 'jiti';
import { CommandError } from '../errors.js';
import { defineProof, type Proof } from '../testing/proof.js';

/**
 * Loads what a file exports as `proof` or by default. TypeScript needs no build, `.js` in import specifiers may mean
 * `.ts`, and packages are loaded by Node itself, so that a class is one class wherever it is imported from.
 * @throws CommandError (`usage`) saying what is wrong with the file
 */
export async function loadProof(file: string, cwd: string): Promise<Proof> {
  const exported = await load(requireFile(file, cwd), file);
  const candidate = exported.proof ?? exported.default;
  if (typeof candidate !== 'object' || candidate === null) {
    throw new CommandError(
      'usage',
      `${file} exports no proof: export const proof = defineProof({ handlers, events, state, ... }) of oncehook/testing`,
    );
  }
  try {
    // Checked again: a file may export a plain object.
    return defineProof(candidate as Proof);
  } catch (error) {
    throw new CommandError('usage', `${file}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** @throws CommandError (`usage`) when there is no such file */
export function requireFile(file: string, cwd: string): string {
  const path = resolve(cwd, file);
  if (!existsSync(path)) throw new CommandError('usage', `There is no file ${file}`);
  return path;
}

async function load(path: string, file: string): Promise<{ readonly proof?: unknown; readonly default?: unknown }> {
  // No cache on disk: what is proven is what is written there now. Path aliases are those of the file's own tsconfig.
  const jiti = createJiti(path, { fsCache: false, interopDefault: false, tsconfigPaths: true });
  try {
    return await jiti.import<{ readonly proof?: unknown; readonly default?: unknown }>(path);
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    throw new CommandError('usage', `${file} cannot be loaded: ${text}`, { cause: error });
  }
}
