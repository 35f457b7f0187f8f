import type { Citation } from '../../shared/core/content.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { numberOrNull, objects, textOr } from '../common/fields.ts'
import { asObject } from '../common/json-value.ts'

export function readCitation(citation: JsonObject): Citation {
  const document = asObject(objects(citation['sources'])[0]?.['document'])
  return {
    url: textOr(document?.['url'], null),
    title: textOr(document?.['title'], null),
    text: textOr(document?.['text'], null),
    start: numberOrNull(citation['start']),
    end: numberOrNull(citation['end']),
    native: citation,
  }
}

/** Whether it cites the answer's text, not the plan of its calls. */
export function citesText(citation: JsonObject): boolean {
  return textOr(citation['type'], 'TEXT_CONTENT') === 'TEXT_CONTENT'
}
