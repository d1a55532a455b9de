/** Longer names are not compared: the work grows with the square, and nobody mistypes a name of this length. */
const LONGEST_COMPARED = 64;

/**
 * The known name that was probably meant, if one is near: case, `_` and `-` do not count, else one slip in a short
 * name and two in a longer one.
 */
export function nearName(name: string, known: readonly string[]): string | undefined {
  if (name.length > LONGEST_COMPARED) return undefined;
  const typed = plain(name);
  const allowed = typed.length <= 4 ? 1 : 2;
  const [nearest] = known
    .map((candidate) => ({ candidate, slips: editDistance(typed, plain(candidate)) }))
    .filter(({ slips }) => slips <= allowed)
    .sort((a, b) => a.slips - b.slips);
  return nearest?.candidate;
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '');
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one text into the other. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = at(last, column - 1) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const swapped =
        a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1] ? at(beforeLast, column - 2) + 1 : Infinity;
      current.push(Math.min(replaced, swapped, at(last, column) + 1, at(current, column - 1) + 1));
    }
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity;
}
