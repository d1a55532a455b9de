import { z } from 'zod';
import { documentSchema } from './document-schema.js';

/**
 * The JSON schema of `oncehook.yaml` for editors, as `oncehook.schema.json` holds it. Draft 7, which is what YAML
 * language servers know best. Rules between settings are not in it.
 */
export function configJsonSchema(): Readonly<Record<string, unknown>> {
  const schema = z.toJSONSchema(documentSchema, { io: 'input', target: 'draft-7' });
  return { ...schema, title: 'oncehook configuration' };
}
