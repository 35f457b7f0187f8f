import type { AuthStyle } from './auth-style.ts'

/**
 * What a provider may serve besides conversations: the path of its endpoint, and its languages as upstreams speak them. The first
 * language is that of the endpoint's own clients.
 */
export const SERVICES = {
  embeddings: {
    path: '/v1/embeddings',
    protocols: [
      'openai-embeddings',
      'voyage-embeddings',
      'jina-embeddings',
      'cohere-embeddings',
      'gemini-embeddings',
      'vertex-embeddings',
    ],
  },
  rerank: { path: '/v1/rerank', protocols: ['rerank', 'cohere-rerank', 'voyage-rerank', 'tei-rerank'] },
  images: {
    path: '/v1/images/generations',
    protocols: [
      'openai-images',
      'xai-images',
      'gemini-images',
      'imagen',
      'together-images',
      'siliconflow-images',
      'openrouter-images',
    ],
  },
  videos: {
    path: '/v1/video/generations',
    protocols: ['openai-videos', 'veo', 'xai-videos', 'dashscope-videos', 'ark-videos'],
  },
} as const satisfies Record<string, { readonly path: string; readonly protocols: readonly [string, ...string[]] }>

export type ServiceName = keyof typeof SERVICES

export const SERVICE_NAMES = Object.keys(SERVICES) as readonly ServiceName[]

export type ProtocolOf<Name extends ServiceName> = (typeof SERVICES)[Name]['protocols'][number]

export type ServiceProtocol = ProtocolOf<ServiceName>

export type VideoProtocol = ProtocolOf<'videos'>

/** The languages of the endpoints' own clients. */
export type ServiceBodiesName = (typeof SERVICES)[ServiceName]['protocols'][0]

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

/** How the provider serves this model; null: not at all. */
export function serviceOf(services: Services | undefined, name: ServiceName, upstreamModel: string): Service | null {
  const fits = (pattern: string): boolean =>
    pattern.endsWith('*') ? upstreamModel.startsWith(pattern.slice(0, -1)) : upstreamModel === pattern
  return services?.[name]?.find(({ models }) => models === undefined || models.some(fits)) ?? null
}
