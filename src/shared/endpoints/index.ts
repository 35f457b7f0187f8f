import type { DescribedEndpoint } from '../api/described-endpoint.ts'
import { chat } from './chat-completions.ts'
import { countTokens } from './count-tokens.ts'
import type { ServedEndpoint } from './declare.ts'
import { embeddings } from './embeddings.ts'
import { health, liveness, readiness } from './health.ts'
import { images } from './images.ts'
import { messages } from './messages.ts'
import { model, modelList } from './models.ts'
import { rerank } from './rerank.ts'
import { responses } from './responses.ts'
import { video, videoContent, videoJob } from './video.ts'

/** Every endpoint of the data plane. Routes, validators, the OpenAPI document and the paths of the client derive from it. */
export const ENDPOINTS = {
  chat,
  messages,
  responses,
  countTokens,
  embeddings,
  rerank,
  images,
  video,
  videoJob,
  videoContent,
  modelList,
  model,
  health,
  liveness,
  readiness,
} as const

export type DeclaredEndpoint = (typeof ENDPOINTS)[keyof typeof ENDPOINTS]

export const ALL_ENDPOINTS: readonly DeclaredEndpoint[] = Object.values(ENDPOINTS)

export const SERVED_ENDPOINTS: readonly ServedEndpoint[] = ALL_ENDPOINTS.filter(
  (endpoint) => endpoint.kind === 'served',
)

/** @param vendor some endpoints are also under `/<vendor>`, for clients of this vendor */
export function describedEndpoints(vendor: string): readonly DescribedEndpoint[] {
  const aliases = ALL_ENDPOINTS.filter((endpoint) => endpoint.kind !== 'open' && endpoint.isAliased).map(
    (endpoint) => ({
      ...endpoint,
      operation: `${endpoint.operation}OfVendor`,
      path: `/${vendor}${endpoint.path}`,
      summary: `${endpoint.summary}: the same as ${endpoint.path}`,
    }),
  )
  return [...ALL_ENDPOINTS, ...aliases]
}
