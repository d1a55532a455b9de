import type { Logger } from '../observability/logger.js';

/**
 * Resolves at the first SIGINT or SIGTERM. A second one while stopping ends the process at once, for whoever has lost
 * patience.
 */
export function untilAskedToStop(log: Logger): Promise<void> {
  return new Promise((resolve) => {
    let asked = false;
    const ask = (signal: NodeJS.Signals): void => {
      if (asked) process.exit(1);
      asked = true;
      log.info({ signal }, 'stopping');
      resolve();
    };
    process.on('SIGINT', ask);
    process.on('SIGTERM', ask);
  });
}
