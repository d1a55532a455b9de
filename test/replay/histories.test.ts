import { readdirSync, readFileSync } from 'node:fs';
import { Worker } from '@temporalio/worker';
import { describe, expect, it } from 'vitest';
import { bundledWorkflows } from '../support/workflow-bundle.js';
import { HISTORIES, SCENES, VERSION, type RecordedHistory } from './recorded-history.js';

// Runs under quarantine outlive deploys, so histories of released versions must replay on today's workflow code.
describe('histories of released versions', () => {
  const files = readdirSync(HISTORIES).filter((file) => file.endsWith('.json'));

  it('are there for every way that a run of this version can go', () => {
    expect(files).toEqual(expect.arrayContaining(SCENES.map((scene) => `${VERSION}-${scene}.json`)));
  });

  it.each(files)('%s replays on the present code', async (file) => {
    const { workflowId, history } = JSON.parse(readFileSync(new URL(file, HISTORIES), 'utf8')) as RecordedHistory;
    await Worker.runReplayHistory({ workflowBundle: await bundledWorkflows() }, history, workflowId);
  });

  it('go on where an activity named the order by a number, which would fail their task for ever', async () => {
    const { workflowId, history } = JSON.parse(
      readFileSync(new URL(`${VERSION}-quarantined-then-replayed.json`, HISTORIES), 'utf8'),
    ) as RecordedHistory;
    let numbered = 0;
    // What it would have listed then.
    const withNumber = JSON.parse(JSON.stringify(history), (name, value: unknown) => {
      if (name === 'OrderId') return undefined;
      if (name !== 'data' || typeof value !== 'string') return value;
      const data = Buffer.from(value, 'base64').toString();
      const changed = data.replace(/"orderId":"[^"]+"/, '"orderId":42');
      if (changed !== data) numbered += 1;
      return Buffer.from(changed).toString('base64');
    }) as unknown;
    expect(numbered).toBe(1);
    await Worker.runReplayHistory({ workflowBundle: await bundledWorkflows() }, withNumber, workflowId);
  });

  it('would not replay on code that does something else first', async () => {
    const { workflowId, history } = JSON.parse(
      readFileSync(new URL(`${VERSION}-applied.json`, HISTORIES), 'utf8'),
    ) as RecordedHistory;
    const other = JSON.parse(JSON.stringify(history).replaceAll('"applyEvent"', '"somethingElse"')) as unknown;
    await expect(
      Worker.runReplayHistory({ workflowBundle: await bundledWorkflows() }, other, workflowId),
    ).rejects.toThrow(/TMPRL1100|[Nn]ondeterminism|[Dd]eterminism/);
  });
});
