import { describe, expect, it } from 'vitest'
import { knownProvider } from '../../../../src/shared/config/providers/known.ts'
import { defaultServices } from '../../../../src/shared/config/services.ts'
import { serviceOf } from '../../../../src/shared/core/service.ts'
import type { Service, ServiceName } from '../../../../src/shared/core/service.ts'
import type { Json } from '../../../support/plain-json.ts'
import { withoutNulls } from '../../../support/plain-json.ts'
import { loadEndpointFixtures } from '../../../support/recorded-fixtures.ts'
import { ask, shown } from './ask.ts'
import type { Asked } from './ask.ts'

/** Recorded under a name that no table has: speaks as OpenAI does. */
const UNKNOWN = new Set(['doubleword'])

/** The recorded request as a client of the gateway writes it. */
function asClientsWrite(request: Json): Json {
  const { output_dimension: dimensions, top_k: topN, ...rest } = withoutNulls(request)
  const renamed = { ...rest, dimensions: dimensions ?? rest.dimensions, top_n: topN ?? rest.top_n }
  return Object.fromEntries(Object.entries(renamed).filter(([, value]) => value !== undefined))
}

function serviceFor(provider: string, name: ServiceName, model: string): Service | null {
  if (UNKNOWN.has(provider)) return serviceOf(defaultServices('openai-chat', ''), name, model)
  const known = knownProvider(provider)
  const services = known?.services ?? (known === undefined ? {} : defaultServices(known.dialect, known.baseUrl ?? ''))
  return serviceOf(services, name, model)
}

function cases(
  endpoint: 'embeddings' | 'rerank' | 'images',
): Array<[id: string, request: Json, answer: Json, asked: Asked]> {
  const name: string = endpoint === 'images' ? 'images.generations' : endpoint
  return loadEndpointFixtures(endpoint).flatMap(({ id, provider, request, response, status }) => {
    if (request === null || status !== 200) return []
    const recorded = JSON.parse(request.toString())
    // Zero results are refused as a wish; a body without a model is for a service that has one.
    if (recorded.top_n === 0 || recorded.model === undefined) return []
    const service = serviceFor(provider, endpoint, recorded.model as string)
    if (service === null) throw new Error(`${provider} is not known to serve ${endpoint}`)
    const { protocol, ...rules } = service
    const asked = ask(name, protocol, { ...asClientsWrite(recorded), model: 'm' }, rules)
    return [[id, { ...withoutNulls(recorded), model: 'u' }, JSON.parse(response.toString()), asked]]
  })
}

describe('recorded exchanges, as the table of providers has their services', () => {
  const embeddings = cases('embeddings')
  const rankings = cases('rerank')
  const images = cases('images')

  it('are as many as there are', () => {
    expect([embeddings.length, rankings.length, images.length]).toEqual([22, 6, 2])
  })

  it.each(embeddings)('%s', (_id, request, answer, { bodies, answered }) => {
    const { input, encoding_format: format, ...rest } = request
    const [body] = bodies
    const many: unknown[] = typeof input === 'string' || typeof input[0] === 'number' ? [input] : input
    expect(body).toEqual({
      ...rest,
      input: many,
      ...(body.encoding_format === undefined ? {} : { encoding_format: format }),
    })
    const { data, usage } = shown(answered(answer))
    expect(data).toHaveLength(many.length)
    expect(usage.total_tokens).toBe(answer.usage?.total_tokens ?? 7)
  })

  it.each(rankings)('%s', (_id, request, answer, { bodies, answered }) => {
    expect(bodies).toEqual([request])
    const results = shown(answered(answer)).results as Json[]
    expect(results.map(({ index }) => index as number)).toEqual(
      (answer.results ?? answer.data).map(({ index }: Json) => index as number),
    )
  })

  it.each(images)('%s', (_id, request, answer, { bodies, answered }) => {
    expect(bodies).toEqual([{ n: 1, ...request }])
    expect(shown(answered(answer)).data).toHaveLength(answer.data.length as number)
  })
})
