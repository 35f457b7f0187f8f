import type { MediaSource } from '../../shared/core/content.ts'

const BASE64 = ';base64,'
/** No media type is longer. A URL without a comma up to here is not a data URL. */
const MAX_HEAD_LENGTH = 256

/** Reads a `data:` URL as base64; keeps any other URL. Does not check the data. */
export function sourceOfUrl(url: string): MediaSource {
  if (url.slice(0, 5).toLowerCase() !== 'data:') return { kind: 'url', url }
  const head = url.slice(5, MAX_HEAD_LENGTH)
  const mark = head.indexOf(BASE64)
  if (mark === -1) return { kind: 'url', url }
  return { kind: 'base64', mediaType: head.slice(0, mark), data: url.slice(5 + mark + BASE64.length) }
}

export function dataUrl(mediaType: string, data: string): string {
  return `data:${mediaType};base64,${data}`
}

/** Removes parameters, lowers the case, and uses the name that all dialects know. */
export function plainMediaType(mediaType: string): string {
  const semicolon = mediaType.indexOf(';')
  const plain = (semicolon === -1 ? mediaType : mediaType.slice(0, semicolon)).trim().toLowerCase()
  return plain === 'image/jpg' ? 'image/jpeg' : plain
}
