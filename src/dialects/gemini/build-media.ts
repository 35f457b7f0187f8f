import type { MediaSource } from '../../shared/core/content.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { plainMediaType } from '../data-url.ts'

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

/** Bytes or an address as a part; null: the service cannot be given it. @param otherwise the type where none is told */
export function mediaPart(source: MediaSource, otherwise: string): JsonObject | null {
  switch (source.kind) {
    case 'base64':
      return { inlineData: { mimeType: plainMediaType(source.mediaType) || otherwise, data: source.data } }
    case 'url':
      return filePart(source.url, otherwise)
    case 'file':
      // Files stored at the service are named by their addresses.
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
