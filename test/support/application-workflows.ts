import { proxyActivities } from '@temporalio/workflow';

/** The file that an application's worker bundles: its own workflows, and oncehook's. */
export * from '../../workflows/index.js';

const { greet } = proxyActivities<{ greet(name: string): Promise<string> }>({ startToCloseTimeout: '10 seconds' });

export function greetSomebody(name: string): Promise<string> {
  return greet(name);
}
