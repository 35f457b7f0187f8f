import type { JsonObject } from '../../core/json-object.ts'
import { put } from '../fields.ts'
import { unsupported } from '../losses.ts'

/** What the answer says of these the client reads from it. */
const KNOWN = new Set(['model', 'input', 'dimensions', 'encoding_format'])

/**
 * An embeddings request as the body of batchEmbedContents: one request for each input. Throws GatewayError
 * UNSUPPORTED_FIELD for inputs of tokens, which are those of another tokenizer.
 */
export function buildEmbeddings(
  request: JsonObject,
  model: string,
): { readonly body: JsonObject; readonly dropped: readonly string[] } {
  const { input, dimensions } = request
  const inputs: readonly unknown[] = Array.isArray(input) ? input : [input]
  const requests = inputs.map((text) => {
    if (typeof text !== 'string') throw unsupported('input')
    const one: Record<string, unknown> = { model: `models/${model}`, content: { parts: [{ text }] } }
    put(one, 'outputDimensionality', dimensions)
    return one
  })
  return { body: { requests }, dropped: Object.keys(request).filter((name) => !KNOWN.has(name)) }
}
