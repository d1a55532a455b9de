import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { ROOT } from '../support/dist.js';
import { runCommand, type CommandResult } from '../support/run-command.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';

let dir: string;
/** Files as an application has them: TypeScript that was never built, beside an installed package. */
let mistake: string;
let sound: string;
let lostUpdate: string;
let database: TestDatabase;
let env: Record<string, string>;

beforeAll(async () => {
  dir = openTempDir();
  mkdirSync(join(dir, 'node_modules'));
  symlinkSync(ROOT, join(dir, 'node_modules/oncehook'));
  writeFileSync(join(dir, 'package.json'), '{ "type": "module" }');
  [mistake, sound, lostUpdate] = ['c17-last-refund-only', 'c14-corrected', 'lost-update'].map(install) as [
    string,
    string,
    string,
  ];
  install('shop');
  database = await openDatabase();
  env = { DATABASE_URL: database.url };
});
afterAll(async () => {
  await database.drop();
  removeDir(dir);
});

/** One of the repository's proofs, with the imports that an application would write. */
function install(name: string): string {
  const file = join(dir, `${name}.ts`);
  const text = readFileSync(join(ROOT, 'test/prove', `${name}.ts`), 'utf8');
  writeFileSync(
    file,
    text.replaceAll('../../src/testing/index.js', 'oncehook/testing').replaceAll('../../src/index.js', 'oncehook'),
  );
  return file;
}

function prove(...args: readonly string[]): Promise<CommandResult> {
  return runCommand(['prove', ...args], env);
}

interface ProveDocument {
  readonly verdict: string;
  readonly seed: number;
  readonly schedules: number;
  readonly exhaustive: boolean;
  readonly counterexample: {
    readonly kind: string;
    readonly steps: readonly string[];
    readonly differences: readonly { readonly path: string; readonly expected: unknown; readonly found: unknown }[];
    readonly schedule: string;
    readonly repeat: string;
  } | null;
}

describe('oncehook prove', () => {
  it('ends with 0 for handlers that are proven, from a TypeScript file that was never built', async () => {
    const { code, stdout } = await prove(sound, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ verdict: 'proven', exhaustive: true, counterexample: null });
  });

  it('ends with 1 and tells the counterexample, and the line that repeats just it', async () => {
    const { code, stdout } = await prove(mistake, '--seed', '5');
    expect(code).toBe(1);
    const repeat = `oncehook prove ${mistake} --seed 5 --repeat 1,2,1copy`;
    expect(stdout).toContain('  3. refund.created (evt_r1) again, under a new event ID: done, applied\n');
    expect(stdout).toContain('state[0].refunded_minor\n    - "4000"\n    + "7000"\n');
    expect(stdout).toContain(`Repeat just this schedule:\n  ${repeat}\n`);

    const again = await prove(...repeat.split(' ').slice(2), '--json');
    expect(again.code).toBe(1);
    const document = JSON.parse(again.stdout) as ProveDocument;
    expect(document).toMatchObject({ verdict: 'counterexample', seed: 5, schedules: 1 });
    expect(document.counterexample).toMatchObject({
      kind: 'end',
      schedule: '1,2,1copy',
      differences: [{ path: 'state[0].refunded_minor', expected: '4000', found: '7000' }],
    });
    expect(document.counterexample?.steps).toHaveLength(3);
  });

  it('says of a single schedule that it ends well', async () => {
    const { code, stdout } = await prove(mistake, '--repeat', '2,1');
    expect([code, stdout]).toEqual([0, 'This schedule ends as it should.\n']);
  });

  it('tries the same schedules under the same seed', async () => {
    const runs = await Promise.all([1, 2].map(() => prove(lostUpdate, '--seed', '11', '--schedules', '300', '--json')));
    const [one, two] = runs.map(({ stdout }) => JSON.parse(stdout) as ProveDocument);
    expect(one?.schedules).toBe(two?.schedules);
    expect(one?.counterexample?.schedule).toBe(two?.counterexample?.schedule);
    expect(one?.counterexample).not.toBeNull();
  });

  it('leaves no database behind', async () => {
    await prove(mistake, '--repeat', '1');
    const left = await database.rows(
      `select datname from pg_database d
        where datname like 'oncehook_scratch_%'
          and not exists (select from pg_stat_activity a where a.datname = d.datname)`,
    );
    expect(left).toEqual([]);
  });
});

describe('oncehook prove loads a file as the application itself does', () => {
  it('with its path aliases, specifiers in .js that mean .ts, and one copy of every package', async () => {
    mkdirSync(join(dir, 'lib'));
    const options = { paths: { '@lib/*': ['./lib/*'] }, module: 'NodeNext', moduleResolution: 'NodeNext' };
    writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify({ compilerOptions: options }));
    writeFileSync(join(dir, 'lib/base.ts'), "export { proof as sound } from '../c14-corrected.js';\n");
    const text = `import { sound } from '@lib/base.js';
import pg from 'pg';
import { defineProof } from 'oncehook/testing';
const state = (db: { pool: unknown }) => {
  if (!(db.pool instanceof pg.Pool)) throw new Error('pg was loaded twice');
  return 1;
};
export default defineProof({ ...sound, state });
`;
    const file = join(dir, 'aliased.ts');
    writeFileSync(file, text);
    symlinkSync(join(ROOT, 'node_modules/pg'), join(dir, 'node_modules/pg'));
    const { code, stdout, stderr } = await prove(file, '--repeat', 's1,1');
    expect([code, stdout, stderr]).toEqual([0, 'This schedule ends as it should.\n', '']);
  });
});

describe('oncehook prove ends with 2 and the next step', () => {
  function write(name: string, text: string): string {
    const file = join(dir, name);
    writeFileSync(file, text);
    return file;
  }

  it('without a file', async () => {
    const { code, stderr } = await prove('./nowhere.ts');
    expect([code, stderr]).toEqual([2, 'oncehook: There is no file ./nowhere.ts\n']);
  });

  it('for a file that does not parse, with the place', async () => {
    const { code, stderr } = await prove(write('broken.ts', 'export const proof = {;\n'));
    expect(code).toBe(2);
    expect(stderr).toMatch(/broken\.ts cannot be loaded: .*broken\.ts/s);
  });

  it('for a file without a proof', async () => {
    const { code, stderr } = await prove(write('empty.ts', 'export const handlers = 1;\n'));
    expect(code).toBe(2);
    expect(stderr).toContain('exports no proof: export const proof = defineProof({');
  });

  it('for a proof that lacks something, naming all of it', async () => {
    const { code, stderr } = await prove(write('partial.ts', 'export const proof = { events: [] };\n'));
    expect(code).toBe(2);
    expect(stderr).toContain('handlers must be what defineHandlers() returns');
    expect(stderr).toContain('state must be a function');
    expect(stderr).toContain('events must be one to 6 events');
  });

  it('for a function of the proof that throws, with its line', async () => {
    const text = `import { proof as sound } from ${JSON.stringify(sound)};
export const proof = { ...sound, given: async (db: { query(sql: string): unknown }) => { await db.query('select no_such_column'); } };
`;
    const { code, stderr } = await prove(write('throws.ts', text));
    expect(code).toBe(2);
    expect(stderr).toMatch(/The proof's given failed: .*no_such_column.*throws\.ts/s);
  });

  it('for a schedule that is none of this proof', async () => {
    const { code, stderr } = await prove(sound, '--repeat', '7');
    expect(code).toBe(2);
    expect(stderr).toContain('--repeat 7 is not a schedule of this proof');
  });

  it('without a database', async () => {
    const { code, stderr } = await runCommand(['prove', sound], {});
    expect(code).toBe(2);
    expect(stderr).toContain('DATABASE_URL');
  });

  it('for a server that does not answer', async () => {
    const { code, stderr } = await prove(sound, '--database-url', 'postgres://nobody@127.0.0.1:1/none');
    expect(code).toBe(2);
    expect(stderr).toMatch(/PostgreSQL does not answer at 127\.0\.0\.1:1\. Start one/);
  });

  it('for a role that may not create databases', async () => {
    await database.rows(
      `do $$ begin create role prove_reader login password 'reader'; exception when duplicate_object then null; end $$`,
    );
    const url = new URL(inject('postgresUrl'));
    url.username = 'prove_reader';
    url.password = 'reader';
    const { code, stderr } = await prove(sound, '--database-url', url.href);
    expect(code).toBe(2);
    expect(stderr).toContain('alter role prove_reader createdb');
  });
});
