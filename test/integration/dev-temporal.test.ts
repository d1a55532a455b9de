import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isPortFree } from '../../src/dev/ports.js';
import { isAlive } from '../../src/dev/processes.js';
import { startTemporal, type RunningTemporal, type TemporalOptions } from '../../src/dev/temporal.js';
import { findTemporalCli } from '../../src/dev/temporal-cli.js';
import { downloadTemporalCli } from '../../src/dev/temporal-download-caller.js';
import { TEMPORAL_CLI_VERSION, type Fetcher } from '../../src/dev/temporal-fetcher.js';
import { SEARCH_ATTRIBUTES } from '../../src/domain/search-attributes.js';
import { compiled } from '../support/dist.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';

let base: string;

beforeEach(() => {
  base = openTempDir();
});

afterEach(() => {
  removeDir(base);
});

describe('a local Temporal server', () => {
  let running: RunningTemporal[];
  let connections: Connection[];

  beforeEach(() => {
    running = [];
    connections = [];
  });

  afterEach(async () => {
    for (const connection of connections) await connection.close();
    for (const server of running) await server.kill();
  });

  async function start(options: Partial<TemporalOptions> = {}): Promise<RunningTemporal> {
    const cli = await findTemporalCli({ env: process.env, onProgress: () => undefined });
    const server = await startTemporal({ dir: join(base, 'temporal'), cli, ...options });
    running.push(server);
    return server;
  }

  async function clientOf(server: RunningTemporal): Promise<Client> {
    const connection = await Connection.connect({ address: server.address });
    connections.push(connection);
    return new Client({ connection });
  }

  async function startElsewhere(): Promise<{ holder: ChildProcess; pid: number }> {
    const script = `
      const { startTemporal } = await import(process.argv[1]);
      const server = await startTemporal({ dir: process.argv[2], cli: process.argv[3] });
      console.log(server.pid);
      setInterval(() => {}, 1e6);`;
    const cli = await findTemporalCli({ env: process.env, onProgress: () => undefined });
    const args = ['--input-type=module', '-e', script, compiled('src/dev/temporal.js'), join(base, 'temporal'), cli];
    const holder = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const [out] = (await once(holder.stdout, 'data')) as [Buffer];
    return { holder, pid: Number(out.toString()) };
  }

  async function killHard(child: ChildProcess): Promise<void> {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  test('takes workflows with our search attributes at once and shows them in its UI', async () => {
    const server = await start();
    const client = await clientOf(server);
    await client.workflow.start('anything', {
      taskQueue: 'nobody-polls',
      workflowId: 'first',
      typedSearchAttributes: Object.values(SEARCH_ATTRIBUTES).map((name) => ({
        key: defineSearchAttributeKey(name, 'KEYWORD'),
        value: 'v',
      })),
    });
    const page = await fetch(`${server.uiUrl}/namespaces/${server.namespace}/workflows/first`);
    expect(page.status).toBe(200);
    expect(await page.text()).toContain('<html');
    const api = await fetch(`${server.uiUrl}/api/v1/namespaces/${server.namespace}/workflows/first`);
    expect(await api.json()).toMatchObject({ workflowExecutionInfo: { type: { name: 'anything' } } });
  });

  test('keeps open workflows over SIGKILL, three times in a row, and stopping', async () => {
    const first = await start();
    await (await clientOf(first)).workflow.start('anything', { taskQueue: 'q', workflowId: 'kept' });
    await first.kill();
    for (const round of [1, 2, 3]) {
      const next = await start();
      expect(next).toMatchObject({ address: first.address, uiUrl: first.uiUrl, takenOver: false });
      const client = await clientOf(next);
      expect((await client.workflow.getHandle('kept').describe()).status.name).toBe('RUNNING');
      await client.workflow.start('anything', { taskQueue: 'q', workflowId: `new-${round}` });
      await (round === 3 ? next.stop() : next.kill());
      expect(isAlive(next.pid)).toBe(false);
      // Threads outlive the first one by a moment, with everything that the process has open.
      expect(await isPortFree(Number(next.address.split(':')[1]))).toBe(true);
    }
    const last = await start();
    const client = await clientOf(last);
    for (const round of [1, 2, 3]) {
      expect((await client.workflow.getHandle(`new-${round}`).describe()).status.name).toBe('RUNNING');
    }
  });

  test('left behind by a killed start is taken over as it is', async () => {
    const left = await startElsewhere();
    await killHard(left.holder);
    expect(isAlive(left.pid)).toBe(true);
    expect(await start()).toMatchObject({ pid: left.pid, takenOver: true });
  });

  test('left behind with other arguments is stopped first', async () => {
    const left = await startElsewhere();
    await killHard(left.holder);
    const server = await start({ extraArgs: ['--dynamic-config-value', 'system.enableActivityEagerExecution=true'] });
    expect(server.takenOver).toBe(false);
    expect(isAlive(left.pid)).toBe(false);
  });

  test('left behind and halted, so that it does not answer, is ended', { timeout: 60_000 }, async () => {
    const left = await startElsewhere();
    await killHard(left.holder);
    process.kill(left.pid, 'SIGSTOP');
    const server = await start();
    expect(server.takenOver).toBe(false);
    expect(isAlive(left.pid)).toBe(false);
  });

  test('belongs to one living process: a second start says whose it is', async () => {
    const left = await startElsewhere();
    await expect(start()).rejects.toThrow(`belongs to process ${left.holder.pid}`);
    await killHard(left.holder);
    await start();
  });

  test('has one line for a demanded port that is taken', async () => {
    const first = await start();
    const port = Number(first.address.split(':')[1]);
    await expect(start({ dir: join(base, 'second'), port })).rejects.toThrow(
      `Port ${port}, wanted for Temporal, is in use`,
    );
  });

  test("has one line with the server's own words when an argument is wrong", async () => {
    await expect(start({ extraArgs: ['--no-such-flag'] })).rejects.toThrow(/did not start \(.*no-such-flag.*\): see /);
  });
});

describe('finding a Temporal CLI', () => {
  let said: string[];

  beforeEach(() => {
    said = [];
    for (const name of ['cache', 'bin', 'other-bin']) mkdirSync(join(base, name));
  });

  /** An environment with nothing but what the test puts into `bin`, `other-bin` and the cache. */
  function env(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
    return { XDG_CACHE_HOME: join(base, 'cache'), PATH: [join(base, 'bin'), '/usr/bin', '/bin'].join(':'), ...more };
  }

  function program(path: string, body: string): string {
    const file = join(base, path);
    writeFileSync(file, `#!/bin/sh\n${body}\n`);
    chmodSync(file, 0o755);
    return file;
  }

  const cli = (path: string): string => program(path, 'echo "temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)"');
  const cached = (): string =>
    join(base, 'cache/oncehook', `temporal-${TEMPORAL_CLI_VERSION}-${process.platform}-${process.arch}`);
  const onProgress = (line: string): void => void said.push(line);
  const refuse: Fetcher = () => Promise.reject(new Error('not today'));
  const deliver: Fetcher = ({ file }) => {
    writeFileSync(file, '#!/bin/sh\necho temporal version 1.5.1\n', { mode: 0o755 });
    return Promise.resolve();
  };

  test('takes TEMPORAL_CLI_PATH before the PATH', async () => {
    const named = cli('other-bin/my-temporal');
    cli('bin/temporal');
    expect(await findTemporalCli({ env: env({ TEMPORAL_CLI_PATH: named }), onProgress })).toBe(named);
  });

  test('says what is wrong with TEMPORAL_CLI_PATH and goes on to the PATH', async () => {
    const onPath = cli('bin/temporal');
    expect(await findTemporalCli({ env: env({ TEMPORAL_CLI_PATH: '/no/such' }), onProgress })).toBe(onPath);
    expect(said).toEqual(['TEMPORAL_CLI_PATH cannot be used: /no/such cannot be run']);
  });

  test('does not take another program of that name', async () => {
    program('bin/temporal', 'echo "temporal, a drawing tool"');
    expect(await findTemporalCli({ env: env(), onProgress, fetchers: { deliver } })).toBe(cached());
  });

  test('keeps what it fetched and does not fetch again', async () => {
    expect(await findTemporalCli({ env: env(), onProgress, fetchers: { refuse, deliver } })).toBe(cached());
    expect(await findTemporalCli({ env: env(), onProgress, fetchers: { refuse } })).toBe(cached());
    expect(readdirSync(join(base, 'cache/oncehook'))).toHaveLength(1);
  });

  test('does not keep a program that does not run here', async () => {
    const broken: Fetcher = ({ file }) => {
      writeFileSync(file, "another machine's code", { mode: 0o755 });
      return Promise.resolve();
    };
    await expect(findTemporalCli({ env: env(), onProgress, fetchers: { broken } })).rejects.toThrow(
      'is not the Temporal CLI',
    );
    expect(readdirSync(join(base, 'cache/oncehook'))).toEqual([]);
  });

  test('names each way that failed and the next step when all did', async () => {
    const found = findTemporalCli({
      env: env({ TEMPORAL_CLI_PATH: '/no/such' }),
      onProgress,
      fetchers: { first: refuse, second: refuse },
    });
    await expect(found).rejects.toThrow(
      /TEMPORAL_CLI_PATH: .*first: not today; second: not today\): install Go, .*TEMPORAL_CLI_PATH/,
    );
  });

  test('a build by Go: the pinned version, once for two starts at the same time', async () => {
    program(
      'bin/go',
      `if [ "$1" = env ]; then echo ${base}/gomod; echo ${base}/gocache; exit; fi
       echo "$@" >> ${base}/calls; sleep 1; mkdir "$GOBIN"
       printf '#!/bin/sh\\necho temporal version 1.5.1\\n' > "$GOBIN/temporal"; chmod 755 "$GOBIN/temporal"`,
    );
    const find = compiled('src/dev/temporal-cli.js');
    const script = `
      const { findTemporalCli } = await import(process.argv[1]);
      const { buildTemporalCli } = await import(process.argv[1].replace('-cli.js', '-build.js'));
      console.log(await findTemporalCli({ env: process.env, onProgress: console.error, fetchers: { go: buildTemporalCli } }));`;
    const results = await Promise.all(
      [1, 2].map(async () => {
        const child = spawn(process.execPath, ['--input-type=module', '-e', script, find], {
          env: env(),
          stdio: ['ignore', 'pipe', 'ignore'],
        });
        const [out] = (await once(child.stdout, 'data')) as [Buffer];
        return out.toString().trim();
      }),
    );
    expect(results).toEqual([cached(), cached()]);
    const calls = readFileSync(join(base, 'calls'), 'utf8').trimEnd().split('\n');
    expect(calls).toEqual([expect.stringMatching(/^install .* github\.com\/temporalio\/cli\/cmd\/temporal@v1\.5\.1$/)]);
  });

  test('a build by Go where its caches cannot be written uses the folder it works in, and leaves nothing', async () => {
    program(
      'bin/go',
      `if [ "$1" = env ]; then echo "$0/none"; echo off; exit; fi
       mkdir -p "$GOPATH" "$GOCACHE" "$GOBIN"; echo "$GOFLAGS $GOPATH" > ${base}/seen
       printf '#!/bin/sh\\necho temporal version 1.5.1\\n' > "$GOBIN/temporal"; chmod 755 "$GOBIN/temporal"`,
    );
    const { buildTemporalCli } = await import('../../src/dev/temporal-build.js');
    expect(await findTemporalCli({ env: env(), onProgress, fetchers: { go: buildTemporalCli } })).toBe(cached());
    expect(readFileSync(join(base, 'seen'), 'utf8')).toMatch(/^-modcacherw .*\/cache\/oncehook\/temporal-/);
    expect(readdirSync(join(base, 'cache/oncehook'))).toHaveLength(1);
  });

  test('a download that meets no network fails by the network, not by a program that is not there', async () => {
    const nowhere = { HTTPS_PROXY: 'http://127.0.0.1:9', https_proxy: 'http://127.0.0.1:9' };
    await expect(
      findTemporalCli({ env: env(nowhere), onProgress, fetchers: { download: downloadTemporalCli } }),
    ).rejects.toThrow(/download: [^)]*(error sending request|connect)/i);
  });

  test('does not stay alive for what could not be found', async () => {
    const script = `
      const { findTemporalCli } = await import(process.argv[1]);
      const { buildTemporalCli } = await import(process.argv[1].replace('-cli.js', '-build.js'));
      const fetchers = { go: buildTemporalCli };
      await findTemporalCli({ env: process.env, onProgress: () => {}, fetchers }).catch(() => console.log('told'));`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script, compiled('src/dev/temporal-cli.js')], {
      env: env({ PATH: join(base, 'bin') }),
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await once(child.stdout, 'data');
    const toldAt = Date.now();
    await once(child, 'exit');
    expect(Date.now() - toldAt).toBeLessThan(10_000);
  });

  test('says that Go is missing, and what Go itself said when it failed', async () => {
    const { buildTemporalCli } = await import('../../src/dev/temporal-build.js');
    const find = (): Promise<string> =>
      findTemporalCli({ env: env({ PATH: join(base, 'bin') }), onProgress, fetchers: { go: buildTemporalCli } });
    await expect(find()).rejects.toThrow('go: Go is not installed');
    program('bin/go', 'if [ "$1" = env ]; then exit; fi; echo "go: no route to the proxy" >&2; exit 1');
    await expect(find()).rejects.toThrow('go: go install failed: go: no route to the proxy');
    expect(existsSync(cached())).toBe(false);
  });
});
