import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { keepRunning, type Part } from '../../src/dev/keep-running.js';
import { takeLock } from '../../src/dev/owner-lock.js';
import { freePort, isPortFree, stablePort } from '../../src/dev/ports.js';
import { commandLine, isAlive, startTime } from '../../src/dev/processes.js';
import { compiled } from '../support/dist.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';

let dir: string;

beforeEach(() => {
  dir = openTempDir();
});

afterEach(() => {
  removeDir(dir);
});

/** The number of a process that has ended. */
async function deadPid(): Promise<number> {
  const child = spawn('true');
  await once(child, 'exit');
  return child.pid!;
}

describe('looking at processes', () => {
  test('tells the living from the dead', async () => {
    expect(isAlive(process.pid)).toBe(true);
    expect(isAlive(await deadPid())).toBe(false);
  });

  test('calls a process dead that ended and was not waited for', async () => {
    // The shell starts a child and turns into a program that never waits for it. The child ends after that only: a shell
    // that is slow to turn would have waited for it.
    const script = '(while [ "$(cat /proc/$$/comm)" != sleep ]; do :; done) & echo $!; exec sleep 1000';
    const parent = spawn('/bin/sh', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore'] });
    const [out] = (await once(parent.stdout, 'data')) as [Buffer];
    const zombie = Number(out.toString());
    await expect.poll(() => isAlive(zombie)).toBe(false);
    expect(() => process.kill(zombie, 0)).not.toThrow(); // which is why that alone does not tell
    parent.kill('SIGKILL');
  });

  test('knows a process by its start, and what it was started with', () => {
    const child = spawn('sleep', ['1234']);
    expect(startTime(child.pid!)).toBe(startTime(child.pid!));
    expect(commandLine(child.pid!)).toBe('sleep 1234');
    child.kill('SIGKILL');
  });
});

describe('the lock of a folder', () => {
  const file = (): string => join(dir, 'owner');

  test("is refused while its holder lives, with the holder's number", () => {
    const first = takeLock(file());
    expect(first.taken).toBe(true);
    expect(takeLock(file())).toEqual({ taken: false, heldBy: process.pid });
    if (first.taken) first.release();
    expect(takeLock(file()).taken).toBe(true);
  });

  test.each([
    ['is gone', async () => JSON.stringify({ pid: await deadPid(), startedAt: '1' })],
    [
      'has a number that another process has by now',
      () => Promise.resolve(JSON.stringify({ pid: process.pid, startedAt: '1' })),
    ],
    ['left half a file', () => Promise.resolve('{"pid":')],
  ])('is taken over from one that %s', async (_, content) => {
    writeFileSync(file(), await content());
    expect(takeLock(file()).taken).toBe(true);
  });

  test('goes to one of many that find a dead holder at the same moment', async () => {
    const script = `
      const { takeLock } = await import(process.argv[1]);
      const until = Number(process.argv[3]);
      while (Date.now() < until);
      console.log(takeLock(process.argv[2]).taken);
      process.stdin.resume();`;
    for (let round = 0; round < 5; round++) {
      writeFileSync(file(), JSON.stringify({ pid: await deadPid(), startedAt: '1' }));
      const together = String(Date.now() + 1500);
      const children = Array.from({ length: 4 }, () =>
        spawn(process.execPath, [
          '--input-type=module',
          '-e',
          script,
          compiled('src/dev/owner-lock.js'),
          file(),
          together,
        ]),
      );
      const answers = await Promise.all(
        children.map(async ({ stdout }) => String(((await once(stdout, 'data')) as [Buffer])[0]).trim()),
      );
      expect(answers.filter((answer) => answer === 'true')).toHaveLength(1);
      for (const child of children) child.kill('SIGKILL');
      await Promise.all(children.map((child) => once(child, 'exit')));
    }
  });
});

describe('choosing a port', () => {
  test('keeps the one of last time while it is free', async () => {
    const file = join(dir, 'port');
    const port = await stablePort(file);
    expect(await stablePort(file)).toBe(port);
    const occupier = createServer().listen(port, '127.0.0.1');
    await once(occupier, 'listening');
    expect(await isPortFree(port)).toBe(false);
    expect(await stablePort(file)).not.toBe(port);
    occupier.close();
  });

  test('prefers the usual one at first', async () => {
    const usual = await freePort();
    expect(await stablePort(join(dir, 'port'), [usual])).toBe(usual);
  });

  test('takes none that an outgoing connection could have', async () => {
    const ports = await Promise.all(Array.from({ length: 50 }, freePort));
    expect(Math.max(...ports)).toBeLessThan(32_768);
  });
});

describe('keeping a part running', () => {
  async function mortal(lifeSeconds: string): Promise<Part> {
    const child = spawn('sleep', [lifeSeconds], { stdio: 'ignore' });
    await once(child, 'spawn');
    return {
      pid: child.pid!,
      stop: async () => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        child.kill();
        await once(child, 'exit');
      },
    };
  }

  let said: string[];
  let hopeless: string[];

  beforeEach(() => {
    said = [];
    hopeless = [];
  });

  async function keepMortal(lifeSeconds: string, restart: () => Promise<Part>): Promise<{ stop(): Promise<void> }> {
    const onProgress = (line: string): void => void said.push(line);
    const onHopeless = (line: string): void => void hopeless.push(line);
    return keepRunning(await mortal(lifeSeconds), { name: 'thing', restart, onProgress, onHopeless });
  }

  test('starts it again when it ends by itself, and stops the one that runs', async () => {
    const kept = await keepMortal('0.1', () => mortal('1000'));
    await expect.poll(() => said.at(-1), { timeout: 10_000 }).toMatch(/^thing runs again \(process \d+\)$/);
    const pid = Number(/\d+/.exec(said.at(-1)!)![0]);
    expect(isAlive(pid)).toBe(true);
    await kept.stop();
    expect(isAlive(pid)).toBe(false);
  });

  test('tries again when it could not be started, and says why it could not', async () => {
    const tries = [() => Promise.reject(new Error('its port is taken')), () => mortal('1000')];
    const kept = await keepMortal('0', () => tries.shift()!());
    await expect.poll(() => said.at(-1), { timeout: 10_000 }).toMatch(/^thing runs again/);
    expect(said).toContain('thing could not be started again: its port is taken');
    expect(hopeless).toEqual([]);
    await kept.stop();
  });

  test('gives up on one that ends five times within a minute', async () => {
    const kept = await keepMortal('0', () => mortal('0'));
    await expect.poll(() => hopeless, { timeout: 50_000 }).toEqual(['thing ended 5 times within a minute']);
    await kept.stop();
  });
});
