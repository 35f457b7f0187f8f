/** Marks bytes that are not text. The bytes of all models known today are text. */
const BYTES = 'bedrock-bytes:'
const PRINTABLE = /^[\x20-\x7e]*$/

/** Decodes redacted thinking. Other services of the same model send it as text; this one sends the bytes of that text. */
export function readRedacted(bytes: Buffer): string {
  const text = bytes.toString('latin1')
  return PRINTABLE.test(text) ? text : `${BYTES}${bytes.toString('base64')}`
}

/** Encodes redacted thinking as base64. */
export function writeRedacted(data: string): string {
  return data.startsWith(BYTES) ? data.slice(BYTES.length) : Buffer.from(data).toString('base64')
}
