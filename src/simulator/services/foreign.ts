import { isRecord, type JsonObject } from '../json.ts'
import type { RequestHead } from '../http-head.ts'
import type { PlainAnswer } from '../plain-request.ts'
import { JOBS, LOOKS } from './jobs.ts'
import { GEMINI_IMAGES, IMAGES, wantsPictures } from './pictures.ts'
import { EMBEDDINGS, RERANKERS } from './vectors.ts'
import type { ForeignLook, ForeignPlace, ForeignService } from './service.ts'

/** Embeddings, rankings, pictures and videos as other vendors serve them. The path of a request selects the service. */
const SERVICES: readonly ForeignService[] = [...EMBEDDINGS, ...RERANKERS, ...IMAGES, ...JOBS]

export function foreignService({ path }: RequestHead): ForeignService | null {
  return SERVICES.find((service) => service.path.test(path)) ?? null
}

/** Pictures and conversations of Gemini share a path; the body tells which it is. Null for a conversation. */
export function picturesOfGemini(head: RequestHead, body: JsonObject): ForeignService | null {
  return GEMINI_IMAGES.path.test(head.path) && wantsPictures(body) ? GEMINI_IMAGES : null
}

export function foreignLook({ path }: RequestHead): ForeignLook | null {
  return LOOKS.find((look) => look.path.test(path)) ?? null
}

export function placeOf({ path, headers }: RequestHead, pattern: RegExp, body: JsonObject): ForeignPlace {
  const model = decodeURIComponent(pattern.exec(path)?.[1] ?? '')
  return { model, origin: `http://${headers['host'] ?? ''}`, path, body }
}

/** Translates OpenAI's answer into the format of the service. */
export function inItsWords(service: ForeignService, answer: PlainAnswer, place: ForeignPlace): PlainAnswer {
  const value: unknown = JSON.parse(String(answer.body))
  const written = service.write(isRecord(value) ? value : {}, place)
  const body = JSON.stringify('array' in written ? written['array'] : written)
  return { ...answer, body }
}
