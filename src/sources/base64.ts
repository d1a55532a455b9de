/** Strict base64 with its padding: what encodes back to the same text. Node's own decoder skips whatever it dislikes. */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}
