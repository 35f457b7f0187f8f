import type { AuthStyle } from './auth-style.ts'

/** What a provider may serve besides conversations. */
export type ServiceName = 'embeddings' | 'rerank' | 'images' | 'videos'

/** The languages of each service, as upstreams speak them. The first one is that of the endpoint's own clients. */
export const SERVICE_PROTOCOLS = {
  embeddings: [
    'openai-embeddings',
    'voyage-embeddings',
    'jina-embeddings',
    'cohere-embeddings',
    'gemini-embeddings',
    'vertex-embeddings',
  ],
  rerank: ['rerank', 'cohere-rerank', 'voyage-rerank', 'tei-rerank'],
  images: [
    'openai-images',
    'xai-images',
    'gemini-images',
    'imagen',
    'together-images',
    'siliconflow-images',
    'openrouter-images',
  ],
  videos: ['openai-videos', 'veo', 'xai-videos', 'dashscope-videos', 'ark-videos'],
} as const satisfies Record<ServiceName, readonly string[]>

export type VideoProtocol = (typeof SERVICE_PROTOCOLS)['videos'][number]

export type ServiceProtocol = (typeof SERVICE_PROTOCOLS)[ServiceName][number]

/** What a service takes otherwise than its protocol says. */
export interface ServiceRules {
  /** Inputs, or pictures, of one call; more become several calls. Absent: what the protocol says. */
  readonly maxPerCall?: number
  /** Fields that it knows by another name. */
  readonly fieldNames?: Readonly<Record<string, string>>
  /** Fields that it refuses and an answer can do without: left out, and reported. */
  readonly refusedFields?: readonly string[]
}

/** How a provider serves some of its models. */
export interface Service extends ServiceRules {
  readonly protocol: ServiceProtocol
  /** Names of models at the provider; a trailing `*` stands for any rest. Absent: all. */
  readonly models?: readonly string[]
  /** A path at the provider's host in the place of that of its base URL; `/` for none. */
  readonly base?: string
  /** In the place of the provider's own. */
  readonly auth?: AuthStyle
}

/** Of each service the first entry that fits a model counts; what has none is not served. */
export type Services = Readonly<Partial<Record<ServiceName, readonly Service[]>>>

export const SERVICE_NAMES = Object.keys(SERVICE_PROTOCOLS) as readonly ServiceName[]

/** How the provider serves this model; null: not at all. */
export function serviceOf(services: Services | undefined, name: ServiceName, upstreamModel: string): Service | null {
  const fits = (pattern: string): boolean =>
    pattern.endsWith('*') ? upstreamModel.startsWith(pattern.slice(0, -1)) : upstreamModel === pattern
  return services?.[name]?.find(({ models }) => models === undefined || models.some(fits)) ?? null
}
