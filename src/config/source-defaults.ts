import { DEFAULTS } from './defaults.js';
import type { SourceDraft } from './draft.js';

/*
 * What holds for a source that does not say it; the defaults that depend on its kind. Rules and the final
 * configuration read them here, so that they judge what will be.
 */

export function accountOf({ kind, name, account }: Pick<SourceDraft, 'kind' | 'name' | 'account'>): string {
  return account ?? (kind === 'stripe' ? DEFAULTS.source.stripeAccount : name);
}

export function handlersOf({ kind, handlers }: Pick<SourceDraft, 'kind' | 'handlers'>): string {
  return handlers ?? (kind === 'stripe' ? 'orders' : 'none');
}

export function maxBodyBytesOf({ kind, maxBodyBytes }: Pick<SourceDraft, 'kind' | 'maxBodyBytes'>): number {
  return maxBodyBytes ?? (kind === 'github' ? DEFAULTS.source.githubMaxBodyBytes : DEFAULTS.source.maxBodyBytes);
}

/** What an `hmac` source's sender signs. */
export function signedTemplateOf({ signature }: Pick<SourceDraft, 'signature'>): string {
  return signature?.signed ?? '{body}';
}

/** Whether the signature covers the event ID: a field of the body is covered, a header only if the template says so. */
export function signsId(source: Pick<SourceDraft, 'kind' | 'signature' | 'eventId'>): boolean {
  if (source.kind === 'github') return false;
  if (source.kind !== 'hmac' || source.eventId === undefined) return true;
  return !('header' in source.eventId) || signedTemplateOf(source).includes('{id}');
}
