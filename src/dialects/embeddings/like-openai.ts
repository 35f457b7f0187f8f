import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import { put } from '../common/fields.ts'
import { readInputUsage } from '../common/input-usage.ts'
import { asObject } from '../common/json-value.ts'
import { inOrder } from '../openai-embeddings/answer.ts'
import { brokenFailure } from '../common/whole-answer.ts'
import type { EmbeddingsCodec, ParsedEmbeddings } from './codec.ts'

interface Differences {
  readonly maxInputs: number
  readonly takesTokens?: boolean
  readonly takesObjects?: boolean
  /** The upstream's name for `dimensions`. */
  readonly dimensions?: string
  /** The upstream's name for `encoding_format`, and whether it accepts the value `float`. */
  readonly encoding?: { readonly name: string; readonly takesFloat: boolean }
  /** Fields of the contract that the upstream refuses. */
  readonly refuses?: readonly string[]
}

/** An upstream with OpenAI's protocol for embeddings, except for some names. */
export function likeOpenai(differences: Differences): EmbeddingsCodec {
  const { maxInputs, takesTokens = false, takesObjects = false, refuses = [] } = differences
  const { name, takesFloat } = differences.encoding ?? { name: 'encoding_format', takesFloat: true }
  return {
    path: (base) => `${base}/embeddings`,
    maxInputs,
    takesTokens,
    takesObjects,
    buildRequest({ model, inputs, dimensions, encoding, others }) {
      const { encoding_format: format, ...rest } = others
      const body: Record<string, unknown> = { ...rest, model, input: inputs }
      const dropped = refuses.filter((refused) => Object.hasOwn(body, refused))
      for (const refused of dropped) delete body[refused]
      put(body, differences.dimensions ?? 'dimensions', dimensions)
      if (encoding !== 'float') body[name] = format
      else if (takesFloat && format !== undefined) body[name] = 'float'
      return { body, dropped }
    },
    parseAnswer,
  }
}

function parseAnswer(value: unknown): ParsedEmbeddings | UpstreamFailure {
  const answer = asObject(value)
  const data = answer?.['data']
  if (answer === null || answer['error'] || !Array.isArray(data)) return brokenFailure(value, 'no data')
  const entries = inOrder(data)
  if (entries === null) return brokenFailure(null, 'an embedding is not a vector')
  return {
    vectors: entries.map((entry) => entry['embedding']),
    promptTokens: readInputUsage(value)?.promptTokens ?? null,
  }
}
