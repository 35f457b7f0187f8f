import { TextMeter } from './json-bytes.ts'

/** UTF-8 bytes of the text a model generated within a parsed message, counted as in a stream. */
export function textBytes(message: unknown): number {
  if (message === undefined) return 0
  const json = Buffer.from(JSON.stringify(message))
  const meter = new TextMeter()
  meter.walk(json, 0, json.length)
  return meter.total
}
