import { Type, type Static } from 'typebox'
import type { UpstreamDialectName } from '../core/endpoint.ts'
import { SERVICE_NAMES, SERVICES } from '../core/service.ts'
import type { ProtocolOf, Service, ServiceName, ServiceProtocol, Services } from '../core/service.ts'

const AUTH = ['bearer', 'x-api-key', 'api-key', 'x-goog-api-key', 'aws', 'google', 'none'] as const

/** The schema of one service. Services differ only in their protocols. */
const serviceList = <Protocol extends ServiceProtocol>(protocols: readonly Protocol[], description: string) =>
  Type.Optional(
    Type.Array(
      Type.Object(
        {
          protocol: Type.Unsafe<Protocol>(
            Type.Enum([...protocols], { description: 'The protocol of its requests and answers.' }),
          ),
          models: Type.Optional(
            Type.Array(Type.String({ minLength: 1 }), {
              description: 'Names of models at the upstream; a trailing "*" matches any rest. Default: all.',
              minItems: 1,
            }),
          ),
          base: Type.Optional(
            Type.String({
              description: 'Path on the upstream\'s host instead of the path of base_url; "/" for none.',
              pattern: '^/[^\\s?#]*$',
              expects: 'a path that begins with /',
            }),
          ),
          auth: Type.Optional(
            Type.Enum([...AUTH], { description: 'How the credential is sent. Default: the auth of the upstream.' }),
          ),
          max_per_call: Type.Optional(
            Type.Integer({
              description:
                'Most inputs, or images, of one call; Sluice splits more into several calls. Default: the limit of the protocol.',
              minimum: 1,
              maximum: 1_000_000,
            }),
          ),
          field_names: Type.Optional(
            Type.Record(Type.String(), Type.String({ minLength: 1 }), {
              description: 'Fields that the upstream knows by another name, e.g. {dimensions: output_dimension}.',
            }),
          ),
          refused_fields: Type.Optional(
            Type.Array(Type.String({ minLength: 1 }), {
              description:
                'Fields that the upstream refuses and the answer does not depend on: Sluice leaves them out and reports them.',
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
      'Services besides conversations. In each list, the first entry that matches a model counts; [] turns the service off. Default: the known services of the provider, else of the dialect.',
    additionalProperties: false,
  },
)

type ServicesEntry = Static<typeof servicesSchema>

/** The services of an entry of the file. They replace known services of the same name. */
export function servicesOf(entry: ServicesEntry = {}, known: Services): Services {
  const given = Object.entries(entry).map(([name, list]) => [name, list.map(serviceOfEntry)])
  return { ...known, ...(Object.fromEntries(given) as Services) }
}

/** The services without `auth`: the upstream is configured with its own. */
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

/** Services for all models, in the endpoint's own protocol. */
export function plainly(...names: readonly ServiceName[]): Services {
  return Object.fromEntries(names.map((name) => [name, [{ protocol: SERVICES[name].protocols[0] }]]))
}

const IMAGES_OF_GOOGLE: readonly Service[] = [
  { protocol: 'imagen', models: ['imagen-*', 'models/imagen-*'] },
  { protocol: 'gemini-images' },
]

/** The services that hosts of the dialect are assumed to have when nothing is configured. */
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
