/** Names that people give to settings and variables. Anything else in their place may be a pasted value. */
const NAME_FORM = /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/;

/** How secrets begin of the senders and providers that oncehook works with; a key may have one glued to it. */
const SECRET_PREFIX = /wh(sec|pk|sk)_|[srp]k_(live|test)_|^gh[a-z]_|^github_pat_|^xox[a-z]-|^shp[a-z]{2}_/;

/**
 * A key or variable name as a problem may show it. Problems name what is wrong and never quote values, but a secret
 * can stand where a name belongs (`${whsec_...}`, or a value pasted as a key), and then it must not be printed either.
 */
export function shownName(name: string): string {
  return NAME_FORM.test(name) && !SECRET_PREFIX.test(name) ? name : '(name not shown)';
}
