import type { Tags } from '../shared/core/tags.ts'
import type { MsgpackWriter } from './msgpack-writer.ts'
import { list, text } from './values.ts'

/** Tags are a flat array: name, value, name, value and so on. */
export function writeTags(writer: MsgpackWriter, tags: Tags | null): void {
  if (tags === null) {
    writer.text(null)
    return
  }
  writer.array(tags.length * 2)
  for (const [name, value] of tags) {
    writer.text(name)
    writer.text(value)
  }
}

/** Throws when the value is not an array of tags. */
export function decodeTags(value: unknown): Tags {
  const texts = list(value).map(text)
  if (texts.length % 2 !== 0) throw new Error('a tag has no value')
  return Array.from({ length: texts.length / 2 }, (_, index) => [texts[2 * index] ?? '', texts[2 * index + 1] ?? ''])
}
