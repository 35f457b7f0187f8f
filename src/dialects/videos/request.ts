import type { JsonObject } from '../../shared/core/json-object.ts'
import type { Size } from '../images/codec.ts'
import { unsupportedField } from '../dropped-fields.ts'

/** What a video is to begin with: without it, it would be another one. */
const MEDIA = ['image', 'image_url', 'input_reference', 'video', 'video_url', 'first_frame', 'last_frame'] as const

/** Throws UNSUPPORTED_FIELD for pictures and videos, which not all services are given in the same way. */
export function refuseMedia(others: JsonObject): void {
  for (const name of MEDIA) if (Object.hasOwn(others, name)) throw unsupportedField(name)
}

/** `720p` and its like: the least that has the lines of the shorter side, else the most. */
export function resolutionOf({ width, height }: Size, lines: readonly number[]): string {
  const wanted = Math.min(width, height)
  return `${lines.find((one) => one >= wanted) ?? lines.at(-1) ?? wanted}p`
}
