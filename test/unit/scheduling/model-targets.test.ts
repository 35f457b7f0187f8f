import { expect, it } from 'vitest'
import type { TargetQuirks } from '../../../src/shared/core/codec.ts'
import type { ModelFacts } from '../../../src/shared/core/model-facts.ts'
import type { Model, Snapshot } from '../../../src/shared/core/snapshot.ts'
import { provider, SchedulingWorld, target, upstreamKey } from '../../support/scheduling-world.ts'

const facts = (id: string, quirks: TargetQuirks, at: string | null = null): ModelFacts => ({
  id,
  provider: at,
  contextTokens: null,
  takesImages: null,
  takesTools: null,
  target: quirks,
  prices: null,
  aliases: [],
})

const model = (id: string, upstreamModel: string): Model => ({
  id,
  created: 0,
  ownedBy: 'test',
  targets: [target('p', { upstreamModel }), target('q', { upstreamModel })],
})

const snapshot: Snapshot = {
  version: 1,
  keys: [],
  providers: [
    provider('p', [upstreamKey('p-1'), upstreamKey('p-2')], { target: { takesSampling: true } }),
    provider('q', [upstreamKey('q-1')], { profile: 'groq' }),
  ],
  models: [model('fast', 'big-1'), model('any-*', '*')],
  facts: [facts('big-*', { maxOutputTokens: 7, takesSampling: false }), facts('big-1', { maxOutputTokens: 9 }, 'groq')],
}

function targets(asked: string): Array<[key: string, target: TargetQuirks | undefined]> {
  const route = new SchedulingWorld(snapshot).scheduler.route(asked, 'any') ?? []
  return route.map(({ deployment }) => [deployment.key.id, deployment.target])
}

it.each(['fast', 'any-big-1'])(
  'knows what each provider’s model takes, the provider’s word being the last: %s',
  (asked) => {
    expect(targets(asked)).toEqual([
      ['p-1', { maxOutputTokens: 7, takesSampling: true }],
      ['p-2', { maxOutputTokens: 7, takesSampling: true }],
      ['q-1', { maxOutputTokens: 9 }],
    ])
  },
)

it('gives the keys of a provider one and the same target', () => {
  const [first, second] = targets('any-big-2')

  expect(first?.[1]).toBe(second?.[1])
  expect(targets('any-unknown').map(([, quirks]) => quirks)).toEqual([
    { takesSampling: true },
    { takesSampling: true },
    {},
  ])
})
