import { inDocument, type DocumentPath, type Problem } from './problem.js';

/** The settings that may be `${...}`; everywhere else the text would be taken as it stands. */
const PLACES: readonly ((path: DocumentPath) => boolean)[] = [
  ([top, , field]) => top === 'sources' && (field === 'secrets' || field === 'apiKey'),
  ([top, field]) => top === 'email' && field === 'merchant',
  ([top, field]) => top === 'calendar' && field === 'url',
];

/** Finds `${...}` where nothing replaces it: a tenant that is called "${TENANT}" is never meant. */
export function findStrayReferences(value: unknown, path: DocumentPath = []): Problem[] {
  if (typeof value === 'string') {
    if (!/^\$\{[^}]*\}$/.test(value) || PLACES.some((isPlace) => isPlace(path))) return [];
    return [
      inDocument(
        path,
        'is taken as it stands: ${...} is replaced in secrets, apiKey, email.merchant and calendar.url only',
      ),
    ];
  }
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item, index) => findStrayReferences(item, [...path, index]));
  return Object.entries(value).flatMap(([key, field]) => findStrayReferences(field, [...path, key]));
}
