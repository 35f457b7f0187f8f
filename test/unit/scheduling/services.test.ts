import { expect, it } from 'vitest'
import type { ServedBy } from '../../../src/shared/core/endpoint.ts'
import type { Services } from '../../../src/shared/core/service.ts'
import type { Model, Snapshot } from '../../../src/shared/core/snapshot.ts'
import { provider, SchedulingWorld, target, upstreamKey } from '../../support/scheduling-world.ts'

const google: Services = {
  images: [{ protocol: 'imagen', models: ['imagen-*', 'old'] }, { protocol: 'gemini-images' }],
  embeddings: [{ protocol: 'gemini-embeddings', models: ['embedding-*'] }],
}

const model = (id: string, upstreamModel: string, ...providers: string[]): Model => ({
  id,
  created: 0,
  ownedBy: 'test',
  targets: providers.map((one) => target(one, { upstreamModel })),
})

const snapshot: Snapshot = {
  version: 1,
  keys: [],
  providers: [
    provider('google', [upstreamKey('g-1'), upstreamKey('g-2')], { dialect: 'gemini', services: google }),
    provider('plain', [upstreamKey('p-1')], { services: { embeddings: [{ protocol: 'openai-embeddings' }] } }),
    provider('none', [upstreamKey('n-1')]),
    provider('mute', [upstreamKey('m-1')], { converses: false, services: { rerank: [{ protocol: 'rerank' }] } }),
  ],
  models: [
    model('picture', 'imagen-4', 'google'),
    model('old', 'old', 'google', 'none'),
    model('both', 'embedding-1', 'google', 'plain', 'none'),
    model('any/*', '*', 'google', 'none', 'mute'),
  ],
}

/** Whose keys are asked, and in which words. */
function routeOf(asked: string, servedBy: ServedBy): string[] | null {
  const route = new SchedulingWorld(snapshot).scheduler.route(asked, servedBy)
  return route?.map(({ deployment: { key, service } }) => `${key.id} ${service?.protocol ?? '-'}`) ?? null
}

it.each<[string, ServedBy, string[] | null]>([
  ['picture', 'images', ['g-1 imagen', 'g-2 imagen']],
  ['picture', 'embeddings', null],
  ['picture', 'videos', null],
  ['old', 'images', ['g-1 imagen', 'g-2 imagen']],
  ['both', 'embeddings', ['g-1 gemini-embeddings', 'g-2 gemini-embeddings', 'p-1 openai-embeddings']],
  ['both', 'images', ['g-1 gemini-images', 'g-2 gemini-images']],
  ['both', 'any', ['g-1 -', 'g-2 -', 'p-1 -', 'n-1 -']],
  ['both', 'gemini', ['g-1 -', 'g-2 -']],
  ['nobody', 'embeddings', null],
])('serves %s as %s by %j', (asked, servedBy, keys) => {
  expect(routeOf(asked, servedBy)).toEqual(keys)
})

it.each<[string, ServedBy, string[] | null]>([
  ['any/imagen-5', 'images', ['g-1 imagen', 'g-2 imagen']],
  ['any/gemini-5', 'images', ['g-1 gemini-images', 'g-2 gemini-images']],
  ['any/embedding-5', 'embeddings', ['g-1 gemini-embeddings', 'g-2 gemini-embeddings']],
  ['any/gemini-5', 'embeddings', null],
  ['any/ranker', 'rerank', ['m-1 rerank']],
  ['any/thing', 'any', ['g-1 -', 'g-2 -', 'n-1 -']],
])('knows what a model of a pattern is served as only by its name: %s as %s', (asked, servedBy, keys) => {
  expect(routeOf(asked, servedBy)).toEqual(keys)
})
