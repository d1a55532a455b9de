import type { WorkflowInterceptorsFactory } from '@temporalio/workflow';

/** Signals come to their handlers a moment late, as where an interceptor of an application awaits something first. */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  inbound: [
    {
      handleSignal: async (input, next) => {
        await Promise.resolve();
        await next(input);
      },
    },
  ],
});
