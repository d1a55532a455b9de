import { expect, test } from 'vitest';
import { pointEnvironmentAt } from '../../src/main/point-environment.js';

const SCRATCH = 'postgres://tester:s%40ve@127.0.0.1:5433/oncehook_scratch_1?sslmode=disable';

test('whatever names a PostgreSQL database names the given one, and nothing else is changed', () => {
  const env = {
    DATABASE_URL: 'postgres://shop@live/shop',
    REPORTS_URL: 'postgresql://shop@live/reports',
    PGHOST: 'live',
    PGSERVICE: 'live',
    PGDATABASE: 'shop',
    PGAPPNAME: 'shop',
    HOME: '/home/ana',
  };
  const before = { ...env };
  const pointBack = pointEnvironmentAt(SCRATCH, env);
  expect(env).toEqual({
    DATABASE_URL: SCRATCH,
    REPORTS_URL: SCRATCH,
    PGHOST: '127.0.0.1',
    PGPORT: '5433',
    PGUSER: 'tester',
    PGPASSWORD: 's@ve',
    PGDATABASE: 'oncehook_scratch_1',
    PGAPPNAME: 'shop',
    HOME: '/home/ana',
  });
  pointBack();
  expect(env).toEqual(before);
});

test('what the URL leaves to the variables stays theirs', () => {
  const env = { PGHOST: '127.0.0.1', PGUSER: 'tester', PGPASSWORD: 'save' };
  pointEnvironmentAt('postgres:///oncehook_scratch_1?host=/sockets', env);
  expect(env).toMatchObject({
    PGHOST: '/sockets',
    PGUSER: 'tester',
    PGPASSWORD: 'save',
    PGDATABASE: 'oncehook_scratch_1',
  });
});
