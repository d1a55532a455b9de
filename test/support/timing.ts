/** A comparison of how long two inputs take. */
export interface TimingResult {
  /** Of the trimmed differences (Yuen's t for pairs): how many standard errors their mean is away from none. */
  readonly t: number;
  /** Mean of the trimmed differences, second minus first, in nanoseconds. */
  readonly differenceNs: number;
}

/** The fastest of so many calls counts: the others were held up by something. */
const CALLS = 3;
/** Share of the differences that is left out at either end: what the machine did beside. */
const TRIMMED = 0.2;
/** Pairs before the clock counts, so that the compiler is done. */
const WARM_UP = 1_000;

/**
 * Times calls with two inputs, pair by pair, in a random order within the pair. The two of a pair are microseconds
 * apart, so a machine that is busy for a while slows both: that widens the differences and moves them nowhere, which
 * makes t smaller than the difference deserves and never larger.
 */
export function compareTimes<Input>(
  call: (input: Input) => unknown,
  [first, second]: readonly [Input, Input],
  pairs: number,
): TimingResult {
  const differences: number[] = [];
  for (let pair = -WARM_UP; pair < pairs; pair += 1) {
    const isSwapped = Math.random() < 0.5;
    const earlier = fastestNs(call, isSwapped ? second : first);
    const later = fastestNs(call, isSwapped ? first : second);
    if (pair >= 0) differences.push(isSwapped ? earlier - later : later - earlier);
  }
  return trimmedT(differences.sort((a, b) => a - b));
}

/** The mean of the middle, against the spread of all with the ends pulled in (Winsorized), as trimming hides some of it. */
function trimmedT(sorted: readonly number[]): TimingResult {
  const cut = Math.floor(TRIMMED * sorted.length);
  const middle = sorted.slice(cut, sorted.length - cut);
  const pulledIn = sorted.map((value) => Math.min(Math.max(value, middle[0]!), middle.at(-1)!));
  const mean = average(middle);
  const center = average(pulledIn);
  const variance = pulledIn.reduce((sum, value) => sum + (value - center) ** 2, 0) / (sorted.length - 1);
  return { t: (mean * (1 - 2 * TRIMMED)) / Math.sqrt(variance / sorted.length), differenceNs: mean };
}

function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function fastestNs<Input>(call: (input: Input) => unknown, input: Input): number {
  let fastest = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < CALLS; turn += 1) {
    const startedAt = process.hrtime.bigint();
    call(input);
    fastest = Math.min(fastest, Number(process.hrtime.bigint() - startedAt));
  }
  return fastest;
}

/** Processor time in milliseconds: what is judged is the work, not what else the machine does. */
export function workOf(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
