export type { Config } from './config.js';
export { parseDuration } from './duration.js';
export { loadConfig, requireDatabaseUrl } from './load-config.js';
export { summarizeConfig } from './summarize-config.js';
