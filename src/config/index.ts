export type { Config } from './config.js';
export { parseDuration } from './duration.js';
export { readTextFile } from './read-file.js';
export { readSecrets } from './read-secrets.js';
export type { SecretReference } from './secret-reference.js';
export { loadConfig, requireDatabaseUrl } from './load-config.js';
export { summarizeConfig } from './summarize-config.js';
