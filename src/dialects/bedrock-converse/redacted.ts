/** Marks bytes that were no text; those of all models known today are. */
const BYTES = 'bedrock-bytes:'
const PRINTABLE = /^[\x20-\x7e]*$/

/** Redacted thinking as other services of the same model have it: here it is the bytes of their text. */
export function readRedacted(bytes: Buffer): string {
  const text = bytes.toString('latin1')
  return PRINTABLE.test(text) ? text : `${BYTES}${bytes.toString('base64')}`
}

/** As base64. */
export function writeRedacted(data: string): string {
  return data.startsWith(BYTES) ? data.slice(BYTES.length) : Buffer.from(data).toString('base64')
}
