import type { JsonObject } from '../../core/json-object.ts'
import { put, textOr } from '../fields.ts'
import { unsupported } from '../losses.ts'

/** `predict`: Imagen; `content`: models of Gemini that answer in pictures. */
export type ImageProtocol = 'predict' | 'content'

const KNOWN = new Set(['model', 'prompt', 'n', 'size', 'response_format'])
const SIZE = /^(\d{1,5})x(\d{1,5})$/
const RATIOS: Readonly<Record<ImageProtocol, readonly string[]>> = {
  predict: ['1:1', '3:4', '4:3', '9:16', '16:9'],
  content: ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'],
}

interface BuiltImages {
  readonly body: JsonObject
  readonly dropped: readonly string[]
}

/**
 * A request for pictures. The service knows shapes, no sizes: the nearest is asked for. Throws GatewayError
 * UNSUPPORTED_FIELD for several pictures of a model that makes one at a time, and for a stream.
 */
export function buildImages(request: JsonObject, protocol: ImageProtocol): BuiltImages {
  const prompt = textOr(request['prompt'], '')
  const count = typeof request['n'] === 'number' ? request['n'] : 1
  if (request['stream'] === true) throw unsupported('stream')
  if (count > 1 && protocol === 'content') throw unsupported('n')
  const ratio = nearestRatio(textOr(request['size'], ''), RATIOS[protocol])
  const dropped = Object.entries(request).flatMap(([name, value]) =>
    KNOWN.has(name) || value === null || value === false ? [] : [name],
  )
  if (ratio !== null && !ratio.exact) dropped.push('size')
  return { body: protocol === 'predict' ? predict(prompt, count, ratio) : content(prompt, ratio), dropped }
}

function predict(prompt: string, sampleCount: number, ratio: Ratio | null): JsonObject {
  const parameters: Record<string, unknown> = { sampleCount }
  put(parameters, 'aspectRatio', ratio?.name)
  return { instances: [{ prompt }], parameters }
}

function content(prompt: string, ratio: Ratio | null): JsonObject {
  const generationConfig: Record<string, unknown> = { responseModalities: ['TEXT', 'IMAGE'] }
  if (ratio !== null) generationConfig['imageConfig'] = { aspectRatio: ratio.name }
  return { contents: [{ role: 'user', parts: [{ text: prompt }] }], generationConfig }
}

interface Ratio {
  readonly name: string
  readonly exact: boolean
}

/** Null for `auto` and what is no size. */
function nearestRatio(size: string, known: readonly string[]): Ratio | null {
  const [, width, height] = SIZE.exec(size) ?? []
  if (width === undefined || height === undefined || Number(width) * Number(height) === 0) return null
  const wanted = Math.log(Number(width) / Number(height))
  let nearest: { readonly name: string; readonly away: number } | null = null
  for (const name of known) {
    const [across = 1, down = 1] = name.split(':').map(Number)
    const away = Math.abs(Math.log(across / down) - wanted)
    if (nearest === null || away < nearest.away) nearest = { name, away }
  }
  return nearest === null ? null : { name: nearest.name, exact: nearest.away < 1e-9 }
}
