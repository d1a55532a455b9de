import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { neededMigrations } from '../../src/db/migrate.js';
import { RELEASES } from '../../src/db/releases.js';
import { isFit, judgeSchema } from '../../src/db/schema-report.js';
import { ROOT } from '../support/dist.js';

const TARGET = {
  needed: ['0001_a', '0002_b', '0003_c', '0004_d', '0005_e'],
  releases: [
    { version: '0.1.0', lastMigration: '0001_a' },
    { version: '0.2.0', lastMigration: '0003_c' },
    { version: '0.3.0', lastMigration: '0004_d' },
  ],
  version: '0.4.0',
};

describe('the schema that is there', () => {
  it.each([
    ['nothing', [], false, 'empty', null],
    ['tables whose record is gone', [], true, 'unfit', null],
    ['all of this version', ['0001_a', '0002_b', '0003_c', '0004_d', '0005_e'], true, 'current', '0.3.0'],
    ['that of the version before', ['0001_a', '0002_b', '0003_c', '0004_d'], true, 'behind', '0.3.0'],
    ['that of two versions before', ['0001_a', '0002_b', '0003_c'], true, 'far_behind', '0.2.0'],
    ['half of one of two versions before', ['0001_a', '0002_b'], true, 'far_behind', '0.1.0'],
    ['a gap', ['0001_a', '0003_c', '0004_d'], true, 'unfit', '0.1.0'],
    ['a later version', ['0001_a', '0002_b', '0003_c', '0004_d', '0005_e', '0006_f'], true, 'ahead', '0.3.0'],
    ['a later version with a gap', ['0001_a', '0002_b', '0003_c', '0004_d', '0006_f'], true, 'unfit', '0.3.0'],
  ] as const)('%s', (_what, applied, hasTables, state, version) => {
    const report = judgeSchema({ applied, hasTables }, TARGET);
    expect(report).toMatchObject({ state, version });
    expect(isFit(report)).toBe(state !== 'unfit' && state !== 'far_behind');
  });

  it('lists what is to come in order, and whose is unknown', () => {
    const applied = ['0001_a', '0002_b', '0003_c'];
    expect(judgeSchema({ applied, hasTables: true }, TARGET).pending).toEqual(['0004_d', '0005_e']);
    const later = [...TARGET.needed, '0009_later'];
    expect(judgeSchema({ applied: later, hasTables: true }, TARGET).unknown).toEqual(['0009_later']);
  });

  it('is of the version before also for that version itself', () => {
    const own = { ...TARGET, needed: TARGET.needed.slice(0, 4), version: '0.3.0' };
    const applied = TARGET.needed.slice(0, 3);
    expect(judgeSchema({ applied, hasTables: true }, own)).toMatchObject({ state: 'behind', pending: ['0004_d'] });
  });
});

describe('the list of releases', () => {
  it('says the same as the changelog: every version but the one on top, with its last migration', () => {
    const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
    const [, ...released] = changelog.split(/^## /m).slice(1);
    let last = '';
    const told = released.reverse().map((section) => {
      const migrations = [...section.matchAll(/^- `(\d{4}_\w+)`/gm)].map(([, name = '']) => name);
      last = migrations.sort().at(-1) ?? last;
      return { version: /^\S+/.exec(section)?.[0], lastMigration: last };
    });
    expect(RELEASES).toEqual(told);
  });

  it('names migrations that are there', async () => {
    const needed = await neededMigrations();
    expect(RELEASES.filter(({ lastMigration }) => !needed.includes(lastMigration))).toEqual([]);
  });
});
