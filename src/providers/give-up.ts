/** Three days, in milliseconds: another side that is down over a weekend still gets what it missed. */
export const GIVE_UP_MS = 3 * 24 * 3_600_000;
