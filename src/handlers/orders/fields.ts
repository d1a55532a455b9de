import { z } from 'zod';
import type { About, OrderReference } from '../../domain/orders/facts.js';
import { isMinorAmount } from '../../api/index.js';
import { STORABLE } from '../storable-text.js';

/** Nothing is coerced: an amount is a safe integer, not negative, and never a text. */
export const amount = z.unknown().refine(isMinorAmount).transform(Number);

/** Money that moved in either direction. */
export const movedAmount = z.int().refine((value) => !Object.is(value, -0));

export const currency = z
  .string()
  .regex(/^[A-Za-z]{3}$/)
  .transform((code) => code.toLowerCase());

export const objectId = z.string().min(1).max(255);

/** The ID of another object, which Stripe gives as text, or as the object itself where the request expanded it. */
export const linkedId = z
  .union([objectId, z.object({ id: objectId }).transform(({ id }) => id)])
  .nullish()
  .transform((id) => id ?? null);

export const metadata = z.record(z.string(), z.unknown()).nullish();
export type Metadata = z.output<typeof metadata>;

/** Orders and tenants are named by metadata keys that the application sets when it creates the object. */
const ORDER_KEY = 'order_id';
const TENANT_KEY = 'tenant_id';
const MAX_ORDER_ID_LENGTH = 255;

/** Metadata that marks an object as ours in an account that others use too; `null` where all are. */
export type Owns = ReadonlyMap<string, string> | null;

export function readAbout(found: Metadata, owns: Owns): About {
  const tenant = found?.[TENANT_KEY];
  return {
    reference: readReference(found?.[ORDER_KEY]),
    tenant: typeof tenant === 'string' ? tenant : null,
    isOurs: owns === null || [...owns].every(([key, value]) => found?.[key] === value),
  };
}

function readReference(value: unknown): OrderReference {
  if (value === undefined || value === null) return { kind: 'none' };
  if (typeof value !== 'string' || value === '' || value.length > MAX_ORDER_ID_LENGTH || !STORABLE.test(value)) {
    return { kind: 'malformed' };
  }
  return { kind: 'order', id: value };
}
