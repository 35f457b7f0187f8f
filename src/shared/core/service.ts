import type { AuthStyle } from './auth-style.ts'

/**
 * The services besides conversations: the path of the endpoint, and the protocols of upstreams. The first protocol is also that
 * of the endpoint's clients.
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

/** The protocols of the endpoints' clients. */
export type ServiceBodiesName = (typeof SERVICES)[ServiceName]['protocols'][0]

/** Deviations of a service from its protocol. */
export interface ServiceRules {
  /** Most inputs, or images, of one call; more become several calls. Absent: the limit of the protocol. */
  readonly maxPerCall?: number
  /** Fields that the service knows by another name. */
  readonly fieldNames?: Readonly<Record<string, string>>
  /** Fields that the service refuses and the answer does not depend on. They are left out and reported. */
  readonly refusedFields?: readonly string[]
}

/** How a provider serves some of its models. */
export interface Service extends ServiceRules {
  readonly protocol: ServiceProtocol
  /** Names of models at the provider; a trailing `*` matches any rest. Absent: all. */
  readonly models?: readonly string[]
  /** A path on the provider's host instead of the path of its base URL; `/` for none. */
  readonly base?: string
  /** Replaces the `auth` of the provider. */
  readonly auth?: AuthStyle
}

/** The first entry of a service that matches a model counts; without one, the service does not have the model. */
export type Services = Readonly<Partial<Record<ServiceName, readonly Service[]>>>

/** The entry by which the provider serves this model; null: it does not. */
export function serviceOf(services: Services | undefined, name: ServiceName, upstreamModel: string): Service | null {
  const fits = (pattern: string): boolean =>
    pattern.endsWith('*') ? upstreamModel.startsWith(pattern.slice(0, -1)) : upstreamModel === pattern
  return services?.[name]?.find(({ models }) => models === undefined || models.some(fits)) ?? null
}
