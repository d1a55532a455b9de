// Runs the workflows of the interleavings, in a process of its own that its parent kills at any moment:
// `node webhook-worker-process.js <task queue> <file of the bundle>`, with TEMPORAL_ADDRESS.
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';

const [taskQueue, codePath] = process.argv.slice(2);
Runtime.install({ logger: new DefaultLogger('ERROR') });
process.on('disconnect', () => process.exit(0));

const connection = await NativeConnection.connect({ address: process.env.TEMPORAL_ADDRESS });
const worker = await Worker.create({
  connection,
  taskQueue,
  workflowBundle: { codePath },
  // No time limit for a task: a machine that is busy with other tests may take long for what is short.
  debugMode: true,
  // Few at once: signals that come meanwhile share a task, as on a busy worker.
  maxConcurrentWorkflowTaskExecutions: 2,
  maxConcurrentWorkflowTaskPolls: 2,
  // What a killed worker had is soon with the next one.
  stickyQueueScheduleToStartTimeout: '1 second',
});
process.send('polling');
await worker.run();
