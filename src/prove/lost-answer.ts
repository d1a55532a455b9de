/**
 * What `fetch` of Node rejects with when the connection breaks before the answer is there: a `TypeError` whose `cause`
 * is the system's error, with its code.
 */
export function lostAnswer(): TypeError {
  const cause = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', errno: -104, syscall: 'read' });
  return new TypeError('fetch failed', { cause });
}
