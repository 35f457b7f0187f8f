import type { MediaSource } from '../../shared/core/content.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { plainMediaType } from '../common/data-url.ts'

const BY_EXTENSION: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  pdf: 'application/pdf',
  txt: 'text/plain',
  csv: 'text/csv',
  html: 'text/html',
  mp4: 'video/mp4',
}

/** Writes bytes or a URL as a part; null when the service cannot receive it. @param otherwise the type when none is given */
export function mediaPart(source: MediaSource, otherwise: string): JsonObject | null {
  switch (source.kind) {
    case 'base64':
      return { inlineData: { mimeType: plainMediaType(source.mediaType) || otherwise, data: source.data } }
    case 'url':
      return filePart(source.url, otherwise)
    case 'file':
      // The id of a file stored at the service is its URL.
      return /^(?:https?|gs):\/\//.test(source.id) ? filePart(source.id, otherwise) : null
    default:
      return null
  }
}

function filePart(fileUri: string, otherwise: string): JsonObject {
  const path = fileUri.split(/[?#]/, 1)[0] ?? ''
  const extension = path.slice(path.lastIndexOf('.') + 1).toLowerCase()
  return { fileData: { mimeType: BY_EXTENSION[extension] ?? otherwise, fileUri } }
}
