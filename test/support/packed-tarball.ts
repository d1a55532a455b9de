import { join } from 'node:path';
import { compiled, ROOT } from './dist.js';
import { runIn } from './run-in.js';

/** Packs the built project as it would be published. @returns the tarball's path, in `dir` */
export async function packTarball(dir: string): Promise<string> {
  compiled('src/index.js');
  const { stdout } = await runIn(ROOT, 'npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', dir]);
  const [packed] = JSON.parse(stdout) as readonly { readonly filename: string }[];
  if (packed === undefined) throw new Error(`npm pack made nothing: ${stdout}`);
  return join(dir, packed.filename);
}
