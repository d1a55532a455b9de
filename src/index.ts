/** oncehook's public entry point. What is not exported here may change in any release. */
export * from './api/index.js';
