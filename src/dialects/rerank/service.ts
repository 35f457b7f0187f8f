import type { JsonObject } from '../../shared/core/json-object.ts'
import { arrayOf, booleanOrNull, numberOrNull, textOr } from '../common/fields.ts'
import { asObject } from '../common/json-value.ts'
import { unsupportedField } from '../dropped-fields.ts'
import type { BuiltCalls, ServiceTarget, ServiceCodec } from '../services/codec.ts'
import { byRules, otherFields } from '../services/fields.ts'
import { readRanking } from './answer.ts'
import type { RerankCodec } from './codec.ts'

const KNOWN = new Set(['model', 'query', 'documents', 'top_n', 'return_documents'])

/** Ranks any number of documents in one call, because scores of several calls do not compare. */
export function rerankService(codec: RerankCodec): ServiceCodec {
  return {
    path: (base, model) => codec.path(base, model),
    build: (request, ask) => build(codec, request, ask),
    read: ([answer], reading) => readRanking(answer, reading, reading.documents),
  }
}

function build(codec: RerankCodec, request: JsonObject, { model, rules }: ServiceTarget): BuiltCalls {
  const documents = arrayOf(request['documents']).map((document) => carriedDocument(document, codec))
  const returnDocuments = booleanOrNull(request['return_documents'])
  const built = codec.buildRequest({
    model,
    query: textOr(request['query'], ''),
    documents,
    topN: numberOrNull(request['top_n']),
    returnDocuments,
    others: otherFields(request, KNOWN),
  })
  const ruled = byRules(built.body, rules)
  const calls = { bodies: [ruled.body], sizes: [documents.length], dropped: [...built.dropped, ...ruled.dropped] }
  return returnDocuments === true ? { ...calls, documents: documents.map((document) => textOr(document, null)) } : calls
}

/** An object that holds only a text becomes a text. */
function carriedDocument(document: unknown, { takesObjects }: RerankCodec): unknown {
  if (typeof document === 'string') return document
  const object = asObject(document)
  if (object !== null && typeof object['text'] === 'string' && Object.keys(object).length === 1) return object['text']
  if (takesObjects) return document
  throw unsupportedField('documents')
}
