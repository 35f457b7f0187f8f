import type { DocumentBlock, ImageBlock, MediaSource } from '../../shared/core/content.ts'
import type { WireDialect } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { plainMediaType } from '../common/data-url.ts'
import { unsupportedField } from '../dropped-fields.ts'
import { remoteMedia } from '../common/remote-media.ts'

const IMAGE_FORMATS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpeg',
  'image/gif': 'gif',
  'image/webp': 'webp',
}
const DOCUMENT_FORMATS: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'text/csv': 'csv',
  'application/msword': 'doc',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'text/html': 'html',
  'text/plain': 'txt',
  'text/markdown': 'md',
}
const S3 = 's3://'
const MAX_NAME_LENGTH = 200

/** The request or S3 must hold the image: the service fetches no URL. */
export function writeImage({ source }: ImageBlock, from: WireDialect): JsonObject {
  if (source.kind === 'base64') {
    const format = IMAGE_FORMATS[plainMediaType(source.mediaType)]
    if (format === undefined) throw unsupportedField('messages.content.image')
    return { image: { format, source: { bytes: source.data } } }
  }
  const stored = storedAt(source)
  if (stored === null) throw remoteMedia('image', source.kind === 'file' ? 'file' : 'url', from)
  const ending = stored.slice(stored.lastIndexOf('.') + 1).toLowerCase()
  const format = IMAGE_FORMATS[plainMediaType(`image/${ending}`)]
  if (format === undefined) throw unsupportedField('messages.content.image')
  return { image: { format, source: { s3Location: { uri: stored } } } }
}

/** Writes the documents of one request. Each needs a unique name. */
export class DocumentWriter {
  readonly #names = new Set<string>()

  write(block: DocumentBlock, from: WireDialect): JsonObject {
    const document: Record<string, unknown> = { ...contentOf(block, from), name: this.#name(block.title) }
    if (block.context !== null) document['context'] = block.context
    if (block.citations !== null) document['citations'] = { enabled: block.citations }
    return { document }
  }

  #name(title: string | null): string {
    const clean = (title ?? '').replaceAll(/[^A-Za-z0-9()[\]-]+/g, ' ').trim()
    const base = clean === '' ? 'Document' : clean.slice(0, MAX_NAME_LENGTH).trimEnd()
    let name = base
    for (let count = 2; this.#names.has(name); count++) name = `${base} (${count})`
    this.#names.add(name)
    return name
  }
}

/** Only a document given as text can be cited. Without citations, the text goes as bytes. */
function contentOf({ source, citations }: DocumentBlock, from: WireDialect): JsonObject {
  switch (source.kind) {
    case 'base64': {
      const format = DOCUMENT_FORMATS[plainMediaType(source.mediaType)]
      if (format === undefined) throw unsupportedField('messages.content.document')
      return { format, source: { bytes: source.data } }
    }
    case 'text': {
      const format = DOCUMENT_FORMATS[plainMediaType(source.mediaType)] ?? 'txt'
      if (citations === true) return { format, source: { text: source.text } }
      return { format, source: { bytes: Buffer.from(source.text).toString('base64') } }
    }
    case 'blocks': {
      const content = source.blocks.flatMap((block) => (block.type === 'text' ? [{ text: block.text }] : []))
      if (content.length < source.blocks.length) throw unsupportedField('messages.content.source')
      return { format: 'txt', source: { content } }
    }
    default: {
      const stored = storedAt(source)
      if (stored === null) throw remoteMedia('document', source.kind === 'file' ? 'file' : 'url', from)
      const ending = stored.slice(stored.lastIndexOf('.') + 1).toLowerCase()
      const format = Object.values(DOCUMENT_FORMATS).find((known) => known === ending) ?? 'txt'
      return { format, source: { s3Location: { uri: stored } } }
    }
  }
}

function storedAt(source: MediaSource): string | null {
  return source.kind === 'url' && source.url.startsWith(S3) ? source.url : null
}
