import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { freePort } from '../../src/dev/ports.js';
import { packTarball } from '../support/packed-tarball.js';
import { readmeSteps, type ReadmeStep } from '../support/readme-steps.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';
import { until } from '../support/until.js';

/** Longer than an installation with an empty cache, in milliseconds. */
const LIMIT_MS = 480_000;
const STEP_LIMIT_MS = 300_000;

/** A terminal: what is typed goes on in the same shell, and all that it shows is kept. */
interface Terminal {
  readonly shell: ChildProcess;
  readonly shown: () => string;
}

let empty: string;
const terminals: Terminal[] = [];

beforeAll(() => {
  empty = openTempDir('readme-');
});

afterAll(async () => {
  for (const { shell } of terminals) {
    if (shell.exitCode !== null || shell.signalCode !== null) continue;
    process.kill(-shell.pid!, 'SIGKILL');
    await once(shell, 'close');
  }
  removeDir(empty);
});

function openTerminal(cwd: string, env: Readonly<Record<string, string>>): Terminal {
  // A session of its own, so that its end is the end of all that was started in it.
  const shell = spawn('bash', ['-e'], { cwd, env: { ...process.env, ...env }, detached: true });
  let shown = '';
  for (const stream of [shell.stdout, shell.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (shown += text));
  }
  const terminal = { shell, shown: () => shown };
  terminals.push(terminal);
  return terminal;
}

/** Types it, and waits until the terminal shows `expected`; fails at once when the shell ends. */
async function type({ shell, shown }: Terminal, text: string, expected: string): Promise<void> {
  shell.stdin!.write(text);
  await until(
    `"${expected}" after:\n${text}\n`,
    () => {
      if (shell.exitCode !== null) throw new Error(`this failed:\n${text}\n${shown().slice(-4_000)}`);
      return shown().includes(expected);
    },
    STEP_LIMIT_MS,
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}\nshown:\n${shown().slice(-4_000)}`, { cause: error });
  });
}

test(
  'followed word by word in an empty folder, it ends with one event applied and the handler proven',
  { timeout: LIMIT_MS },
  async () => {
    const tarball = await packTarball(empty);
    const env = { TEMPORAL_CLI_PATH: inject('temporalCli'), PORT: String(await freePort()), CI: '' };
    const first = openTerminal(empty, env);
    let folder = empty;
    let done = 0;

    const follow = async (step: ReadmeStep): Promise<void> => {
      switch (step.kind) {
        case 'file':
          writeFileSync(join(folder, step.name), step.text);
          return;
        case 'terminal':
          await type(openTerminal(folder, env), step.text, step.until);
          return;
        case 'shell': {
          done += 1;
          // The one word that differs: the package is not published before it is tested.
          const text = step.text.replace('npm install oncehook', `npm install ${tarball}`);
          await type(first, `${text}\necho "step ${done} of the page is done"\n`, `step ${done} of the page is done`);
          if (/^mkdir (\w+)/m.test(text)) folder = join(empty, /^mkdir (\w+)/m.exec(text)![1]!);
        }
      }
    };
    for (const step of readmeSteps('In your app')) await follow(step);

    const shown = first.shown();
    expect(shown.match(/\{"status":"accepted"\}/g)).toHaveLength(1);
    expect(shown.match(/\{"status":"duplicate"\}/g)).toHaveLength(2);
    expect(shown).toMatch(/proven/i);
    const look = `node -e "import('pg').then(async ({ default: pg }) => { const db = new pg.Client(process.env.DATABASE_URL); await db.connect(); console.log(JSON.stringify((await db.query(\\"select o.status, i.outcome from orders o, oncehook.webhook_inbox i where i.status = 'done'\\")).rows)); await db.end(); })"\n`;
    await type(
      first,
      `until found=$(${look.trim()}) && [[ $found == *applied* ]]; do :; done\necho "$found"\necho 'the event is done'\n`,
      'the event is done',
    );
    expect(first.shown()).toContain('[{"status":"paid","outcome":"applied"}]');

    // Ctrl-C in the other terminals, the server's first, ends all that runs there in order.
    for (const { shell, shown: said } of terminals.slice(1).reverse()) {
      process.kill(-shell.pid!, 'SIGINT');
      shell.stdin!.end();
      await once(shell, 'close');
      expect(said()).not.toMatch(/error/i);
    }
  },
);
