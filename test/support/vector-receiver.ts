import { receiverConfig } from '../../src/service/receiver-config.js';
import { configure, sourceOf, type SourceDocuments } from './configured.js';
import { codeIn, rawPost, sendRaw } from './http-client.js';
import { startReceiver, type RunningReceiver } from './running-receiver.js';

/** A case with what is to be in force while it runs. */
export interface VectorDelivery {
  readonly source: string;
  /** Value of the one variable that the source's secrets name. */
  readonly secret: string;
  /** The receiver's clock, in Unix seconds; unused where no time is signed. */
  readonly now?: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
}

/** A receiver whose secret and clock are those of the case that is being sent. One case at a time. */
export interface VectorReceiver {
  readonly receiver: RunningReceiver;
  /** @returns status and code, such as `401 invalid_signature` @throws ConfigError when the secret may not be used */
  deliver(delivery: VectorDelivery): Promise<string>;
}

export const CASE_SECRET = 'CASE_SECRET';

/** @param sources each with `secrets: ['${CASE_SECRET}']` */
export async function startVectorReceiver(url: string, sources: SourceDocuments): Promise<VectorReceiver> {
  // Until the first case comes, in a form that every kind and encoding takes.
  const config = configure(sources, { [CASE_SECRET]: 'ab'.repeat(32) });
  let now = 0;
  const receiver = await startReceiver(url, { config: receiverConfig(config), now: () => now * 1000 });
  return {
    receiver,
    deliver: async ({ source, secret, now: at = 0, headers, body }) => {
      now = at;
      const judged = configure({ [source]: sources[source]! }, { [CASE_SECRET]: secret });
      sourceOf(config, source).secrets.replace(sourceOf(judged, source).secrets.current());
      const { statuses, text } = await sendRaw(receiver.port, [
        { bytes: rawPost(`/webhooks/${source}`, headers, body) },
      ]);
      if (statuses.length !== 1) throw new Error(`${statuses.length} answers: ${text}`);
      return `${statuses[0]} ${codeIn(text) || (/"status":"(\w+)"/.exec(text)?.[1] ?? '')}`.trim();
    },
  };
}
