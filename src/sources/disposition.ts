import type { Disposition } from './source.js';
import { matchesTypePattern } from './type-pattern.js';

/** What the configuration of every kind says about events that nobody works on. */
export interface DispositionSettings {
  /** Patterns of event types that are done on receipt. */
  readonly ignore: readonly string[];
  /** Events made before this are kept and not acted on. */
  readonly activeFrom?: Date | undefined;
}

export function ignored(reason: string | null): Disposition {
  return { kind: 'done', outcome: 'ignored', reason };
}

/** Whether the operator wants events of this type kept and nothing done about them. */
export function isIgnoredType(settings: DispositionSettings, eventType: string): boolean {
  return settings.ignore.some((pattern) => matchesTypePattern(pattern, eventType));
}

/** The judgement that all kinds share, after what a kind has to say itself. */
export function disposeByAge(settings: DispositionSettings, providerCreatedAt: string | null): Disposition {
  const { activeFrom } = settings;
  const isOld =
    providerCreatedAt !== null && activeFrom !== undefined && Date.parse(providerCreatedAt) < activeFrom.getTime();
  return isOld ? ignored('before_active_from') : { kind: 'process' };
}

/** For kinds with one account and no modes. */
export function dispose(
  settings: DispositionSettings,
  event: { readonly eventType: string; readonly providerCreatedAt: string | null },
): Disposition {
  if (isIgnoredType(settings, event.eventType)) return ignored(null);
  return disposeByAge(settings, event.providerCreatedAt);
}
