/**
 * Whether an event type matches a pattern such as `invoice.*`, where `*` stands for any run of characters, also none.
 * Runs in time proportional to pattern times text, since each part is looked for once, leftmost first.
 */
export function matchesTypePattern(pattern: string, eventType: string): boolean {
  const [head = '', ...parts] = pattern.split('*');
  if (!eventType.startsWith(head)) return false;
  const tail = parts.pop();
  if (tail === undefined) return eventType === head;
  let at = head.length;
  for (const part of parts) {
    const found = eventType.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return eventType.length - tail.length >= at && eventType.endsWith(tail);
}
