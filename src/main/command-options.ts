import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../config/index.js';

/** An option's duration, in milliseconds. */
export function readDuration(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('A duration is an integer and a unit: 30s, 10m, 2h, 3d.');
  return ms;
}

/** An option's whole number from 1. */
export function readCount(text: string): number {
  const count = Number(text);
  if (!Number.isSafeInteger(count) || count < 1) throw new InvalidArgumentError('A whole number from 1.');
  return count;
}
