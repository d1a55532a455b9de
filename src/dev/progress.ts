/** Tells one line of progress to a person. */
export type Progress = (line: string) => void;

const EVERY_MS = 10_000;

/** Runs something slow; says that it begins, every ten seconds that it still goes on (and what `detail` says), and that it is done. */
export async function withProgress<T>(
  what: string,
  onProgress: Progress,
  work: () => Promise<T>,
  detail: () => string = () => '',
): Promise<T> {
  const begun = Date.now();
  const line = (): string => `${what}: ${Math.round((Date.now() - begun) / 1000)} s${detail()}`;
  onProgress(`${what} ...`);
  const ticker = setInterval(() => {
    onProgress(line());
  }, EVERY_MS);
  try {
    const result = await work();
    onProgress(`${line()}, done`);
    return result;
  } finally {
    clearInterval(ticker);
  }
}
