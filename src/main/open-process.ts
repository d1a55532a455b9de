import { createCheckpoints, parseCheckpoint } from '../checkpoints.js';
import { loadConfig, summarizeConfig } from '../config/index.js';
import { createLogger } from '../observability/logger.js';
import type { ProcessContext } from './process-context.js';

/**
 * Reads the configuration for a long-running process and logs the effective one, once, with secrets as set or unset.
 * @throws ConfigError with every problem at once.
 */
export function openProcess(role: 'receiver' | 'worker'): ProcessContext {
  const { env } = process;
  const config = loadConfig({ env, cwd: process.cwd(), role });
  const log = createLogger(config.environment.logLevel, role);
  log.info({ config: summarizeConfig(config) }, 'configuration');
  for (const warning of config.warnings) log.warn(warning);
  const { checkpoint } = config.environment;
  const setting = checkpoint === null ? undefined : parseCheckpoint(checkpoint);
  const checkpoints = createCheckpoints(setting, ({ name, mode }) => {
    // Not the log, which is written a moment later: the process may not have one.
    process.stderr.write(`checkpoint reached: ${name}:${mode}\n`);
  });
  return { config, env, log, checkpoints };
}
