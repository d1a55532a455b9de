import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { Client } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../domain/search-attributes.js';

export const WEBHOOK_SCOPE = defineSearchAttributeKey(SEARCH_ATTRIBUTES.scope, SearchAttributeType.KEYWORD);
export const WEBHOOK_EVENT_TYPE = defineSearchAttributeKey(SEARCH_ATTRIBUTES.eventType, SearchAttributeType.KEYWORD);

/** Temporal's number for the type Keyword (api/enums/v1/common.proto, IndexedValueType). */
const KEYWORD = 2;

/** How to add what is missing; the process goes on without. */
export function howToAddSearchAttributes(namespace: string): string {
  const flags = Object.values(SEARCH_ATTRIBUTES).map((name) => `--name ${name} --type Keyword`);
  return `temporal operator search-attribute create --namespace ${namespace} ${flags.join(' ')}`;
}

/**
 * Whether the namespace knows all of oncehook's search attributes, as Keyword. An upsert of an unknown one inside a
 * workflow would fail its task for ever, so nobody may guess.
 * @throws the client's error when Temporal does not answer.
 */
export async function hasSearchAttributes(client: Client, namespace: string): Promise<boolean> {
  const { customAttributes } = await client.connection.operatorService.listSearchAttributes({ namespace });
  return Object.values(SEARCH_ATTRIBUTES).every((name) => Number(customAttributes[name]) === KEYWORD);
}
