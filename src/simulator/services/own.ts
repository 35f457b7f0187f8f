import type { ServiceName } from '../../shared/core/service.ts'
import { SERVICE_NAMES } from '../../shared/core/service.ts'
import type { Behaviour } from '../behaviour.ts'
import type { JsonObject } from '../json.ts'
import type { OpenRequest } from '../ledger.ts'
import {
  embeddingsAnswer,
  imagesAnswer,
  rerankAnswer,
  textOf,
  textsOfInput,
  textsOfRanking,
  type PlainAnswer,
  type PlainRequest,
} from '../plain-request.ts'
import type { VideoJobs } from '../video-jobs.ts'

/** A service in the protocol of OpenAI's clients. */
export interface OwnService {
  /** The paths of its requests end with this. */
  readonly path: string
  /** The texts of a request; the first may hold `[[sim …]]`. Throws BadRequest with the provider's own wording. */
  readonly textsOf: (body: JsonObject) => string[]
  answer(request: PlainRequest, behaviour: Behaviour, parts: OwnParts): PlainAnswer
}

interface OwnParts {
  readonly id: string
  readonly record: OpenRequest
  readonly videos: VideoJobs
}

export const OWN_SERVICES: Readonly<Record<ServiceName, OwnService>> = {
  embeddings: { path: '/embeddings', textsOf: textsOfInput, answer: embeddingsAnswer },
  rerank: { path: '/rerank', textsOf: textsOfRanking, answer: rerankAnswer },
  images: {
    path: '/images/generations',
    textsOf: textOf('prompt'),
    answer: (request, behaviour, { id }) => imagesAnswer(request, behaviour, id),
  },
  videos: {
    path: '/videos',
    textsOf: textOf('prompt'),
    answer: (request, behaviour, { id, record, videos }) => videos.create(request, record.credential, behaviour, id),
  },
}

export function ownService(path: string): ServiceName | null {
  return SERVICE_NAMES.find((name) => path.endsWith(OWN_SERVICES[name].path)) ?? null
}
