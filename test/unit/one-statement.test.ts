import { expect, it } from 'vitest';
import { transactionControl } from '../../activities/one-statement.js';

it.each([
  'commit',
  ' BEGIN',
  'start  transaction',
  'START/**/TRANSACTION read only',
  'rollback',
  'ROLLBACK WORK',
  'rollback and chain',
  'end;',
  'abort',
  '/* c */ commit',
  '/* a /* b */ c */commit',
  '-- why\ncommit',
  '--\r\n\t;; commit',
  "prepare transaction 'x'",
  "commit prepared 'x'",
])('%j begins or ends a transaction', (text) => {
  expect(transactionControl(text)).toBeDefined();
});

it.each([
  '',
  '/* commit',
  '-- commit',
  'select 1',
  'rollback to mine',
  'rollback /* all */ to savepoint mine',
  'ROLLBACK WORK TO SAVEPOINT mine',
  'rollback transaction to mine',
  'savepoint commit',
  'prepare plan as select 1',
  'commitments',
  "select 'commit'",
  'with ended as (select 1) select * from ended',
])('%j does not', (text) => {
  expect(transactionControl(text)).toBeUndefined();
});
