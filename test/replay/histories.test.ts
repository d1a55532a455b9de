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
