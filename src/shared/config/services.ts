import { Type, type Static } from 'typebox'
import type { UpstreamDialectName } from '../core/endpoint.ts'
import { SERVICE_NAMES, SERVICES } from '../core/service.ts'
import type { ProtocolOf, Service, ServiceName, ServiceProtocol, Services } from '../core/service.ts'

const AUTH = ['bearer', 'x-api-key', 'api-key', 'x-goog-api-key', 'aws', 'google', 'none'] as const

/** What a service is: the same for all of them but for the languages it may speak. */
const serviceList = <Protocol extends ServiceProtocol>(protocols: readonly Protocol[], description: string) =>
  Type.Optional(
    Type.Array(
      Type.Object(
        {
          protocol: Type.Unsafe<Protocol>(
            Type.Enum([...protocols], { description: 'The language of its requests and answers.' }),
          ),
          models: Type.Optional(
            Type.Array(Type.String({ minLength: 1 }), {
              description: 'Names of models at the upstream, a trailing "*" stands for any rest. Default: all.',
              minItems: 1,
            }),
          ),
          base: Type.Optional(
            Type.String({
              description: 'Path at the upstream\'s host in the place of that of base_url; "/" for none.',
              pattern: '^/[^\\s?#]*$',
              expects: 'a path that begins with /',
            }),
          ),
          auth: Type.Optional(
            Type.Enum([...AUTH], { description: 'How the credential is sent. Default: as the upstream says.' }),
          ),
          max_per_call: Type.Optional(
            Type.Integer({
              description: 'Inputs, or images, of one call; more become several. Default: as the protocol says.',
              minimum: 1,
              maximum: 1_000_000,
            }),
          ),
          field_names: Type.Optional(
            Type.Record(Type.String(), Type.String({ minLength: 1 }), {
              description: 'Fields it knows by another name, e.g. {dimensions: output_dimension}.',
            }),
          ),
          refused_fields: Type.Optional(
            Type.Array(Type.String({ minLength: 1 }), {
              description: 'Fields it refuses and an answer can do without: left out, and reported.',
            }),
          ),
        },
        { description: 'How some models are served.', additionalProperties: false },
      ),
      { description },
    ),
  )

type ServiceLists = { readonly [Name in ServiceName]: ReturnType<typeof serviceList<ProtocolOf<Name>>> }

export const servicesSchema = Type.Object(
  Object.fromEntries(
    SERVICE_NAMES.map((name) => [
      name,
      serviceList<ServiceProtocol>(SERVICES[name].protocols, `POST ${SERVICES[name].path}.`),
    ]),
  ) as unknown as ServiceLists,
  {
    description:
      'What it serves besides conversations; of each list the first entry that fits a model counts, [] is nothing. Default: what the provider, else the dialect, is known to serve.',
    additionalProperties: false,
  },
)

type ServicesEntry = Static<typeof servicesSchema>

/** The services of an entry of the file, over those that are known. */
export function servicesOf(entry: ServicesEntry = {}, known: Services): Services {
  const given = Object.entries(entry).map(([name, list]) => [name, list.map(serviceOfEntry)])
  return { ...known, ...(Object.fromEntries(given) as Services) }
}

/** Services that let in as the upstream is told to, not as its provider would. */
export function asTheUpstream(services: Services): Services {
  const lists = Object.entries(services).map(
    ([name, list]) => [name, list.map(({ auth: _, ...rest }) => rest)] as const,
  )
  return Object.fromEntries(lists)
}

type ServiceEntry = NonNullable<ServicesEntry[ServiceName]>[number]

function serviceOfEntry({ max_per_call, field_names, refused_fields, ...entry }: ServiceEntry): Service {
  return {
    ...entry,
    ...(max_per_call === undefined ? {} : { maxPerCall: max_per_call }),
    ...(field_names === undefined ? {} : { fieldNames: field_names }),
    ...(refused_fields === undefined ? {} : { refusedFields: refused_fields }),
  }
}

/** In the endpoint's own language, all models. */
export function plainly(...names: readonly ServiceName[]): Services {
  return Object.fromEntries(names.map((name) => [name, [{ protocol: SERVICES[name].protocols[0] }]]))
}

const IMAGES_OF_GOOGLE: readonly Service[] = [
  { protocol: 'imagen', models: ['imagen-*', 'models/imagen-*'] },
  { protocol: 'gemini-images' },
]

/** What hosts of the dialect are taken to serve when nothing is said. */
export function defaultServices(dialect: UpstreamDialectName, baseUrl: string): Services {
  switch (dialect) {
    case 'openai-chat':
      return plainly(...SERVICE_NAMES)
    case 'gemini':
      if (/\/projects\/[^/]+\/locations\//.test(baseUrl)) {
        return { embeddings: [{ protocol: 'vertex-embeddings' }], images: IMAGES_OF_GOOGLE }
      }
      return {
        embeddings: [{ protocol: 'gemini-embeddings' }],
        images: IMAGES_OF_GOOGLE,
        videos: [{ protocol: 'veo' }],
      }
    case 'cohere-chat':
      return { embeddings: [{ protocol: 'cohere-embeddings' }], rerank: [{ protocol: 'cohere-rerank' }] }
    default:
      return {}
  }
}
