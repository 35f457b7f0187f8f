import type { JsonObject } from '../../shared/core/json-object.ts'
import type { Size } from '../images/codec.ts'
import { unsupportedField } from '../dropped-fields.ts'

/** What a video begins with. Without it, the result would be another video. */
const MEDIA = ['image', 'image_url', 'input_reference', 'video', 'video_url', 'first_frame', 'last_frame'] as const

/** Throws UNSUPPORTED_FIELD for images and videos, because the services take them in different ways. */
export function refuseMedia(others: JsonObject): void {
  for (const name of MEDIA) if (Object.hasOwn(others, name)) throw unsupportedField(name)
}

/** A resolution such as `720p`: the lowest with at least the lines of the shorter side, else the highest. */
export function resolutionOf({ width, height }: Size, lines: readonly number[]): string {
  const wanted = Math.min(width, height)
  return `${lines.find((one) => one >= wanted) ?? lines.at(-1) ?? wanted}p`
}
