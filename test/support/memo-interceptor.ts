import { upsertMemo, type WorkflowInterceptors } from '@temporalio/workflow';

/** An application's own, which leaves a trace in each workflow that it runs in. */
export const interceptors = (): WorkflowInterceptors => ({
  inbound: [
    {
      execute: (input, next) => {
        upsertMemo({ traced: true });
        return next(input);
      },
    },
  ],
});
