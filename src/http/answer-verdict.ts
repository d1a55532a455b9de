import { textAnswer, type Answer } from './answer.js';
import { problemAnswer } from './problem.js';
import type { ReceivingSource } from './receiving-source.js';
import type { Verdict } from './verdict.js';

/** What a sender hears of a verdict; nothing when there is nobody left to hear it. */
export function answerTo(
  verdict: Verdict,
  requestId: string,
  receiving: ReceivingSource | undefined,
): Answer | undefined {
  switch (verdict.kind) {
    case 'stored': {
      const { body = JSON.stringify({ status: verdict.result }), contentType = 'application/json' } =
        receiving?.response ?? {};
      return textAnswer(200, contentType, body);
    }
    case 'challenge':
      return textAnswer(200, 'text/plain; charset=utf-8', verdict.answer);
    case 'refused':
      return problemAnswer(verdict.code, {
        requestId,
        ...(verdict.code === 'method_not_allowed' && { allow: 'POST' }),
      });
    case 'aborted':
      return undefined;
  }
}
