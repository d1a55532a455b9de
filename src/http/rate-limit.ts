export interface RateLimit {
  readonly perSecond: number;
  /** How many may come at once after a pause. */
  readonly burst: number;
}

/** A token bucket. */
export interface RateLimiter {
  /** Takes a token if there is one. @param nowMs any clock that never runs backwards, in milliseconds */
  take(nowMs: number): boolean;
}

export function createRateLimiter({ perSecond, burst }: RateLimit): RateLimiter {
  let tokens = burst;
  let filledAt: number | undefined;
  return {
    take: (nowMs) => {
      tokens = Math.min(burst, tokens + ((nowMs - (filledAt ?? nowMs)) * perSecond) / 1000);
      filledAt = nowMs;
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
  };
}
