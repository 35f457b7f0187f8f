import type { WireDialect } from '../../shared/core/conversation.ts'
import type { GatewayError } from '../../shared/core/errors.ts'
import { unsupportedField } from '../dropped-fields.ts'

type Media = 'image' | 'document'
type Place = 'url' | 'file'

const FIELDS: Readonly<Partial<Record<WireDialect, Readonly<Record<Media, Readonly<Record<Place, string>>>>>>> = {
  'openai-chat': {
    image: { url: 'messages.content.image_url.url', file: 'messages.content.file.file_id' },
    document: { url: 'messages.content.file.file_data', file: 'messages.content.file.file_id' },
  },
  'openai-responses': {
    image: { url: 'input.content.image_url', file: 'input.content.file_id' },
    document: { url: 'input.content.file_url', file: 'input.content.file_id' },
  },
}
const FIELDS_OF_MESSAGES: Readonly<Record<Place, string>> = {
  url: 'messages.content.source.url',
  file: 'messages.content.source.file_id',
}
const FIXES: Readonly<Partial<Record<WireDialect, string>>> = {
  'openai-chat': 'as a data URL (data:TYPE;base64,…)',
  'openai-responses': 'as a data URL (data:TYPE;base64,…)',
}

const REASONS: Readonly<Record<Place, string>> = { url: 'It fetches nothing', file: 'It does not have the file' }

/**
 * The refusal of media given only by URL or id, when the service needs the media itself. Names the client's field and the
 * fix.
 */
export function remoteMedia(media: Media, place: Place, from: WireDialect): GatewayError {
  const field = FIELDS[from]?.[media][place] ?? FIELDS_OF_MESSAGES[place]
  const how = FIXES[from] ?? 'as a source of type "base64"'
  return unsupportedField(field, `${REASONS[place]}: send the ${media} itself, ${how}.`)
}
