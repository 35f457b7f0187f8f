import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Slot } from '../../../src/core/deployment.ts'
import type { ModelTarget, Provider, Snapshot, UpstreamKey } from '../../../src/core/snapshot.ts'
import { Scheduler } from '../../../src/scheduling/scheduler.ts'

const NOW = 1_700_000_000_000
const NONE: ReadonlySet<string> = new Set()

function upstreamKey(id: string, members: Partial<UpstreamKey> = {}): UpstreamKey {
  return { id, name: id, credential: `secret-${id}`, enabled: true, weight: 1, maxConcurrency: 10, ...members }
}

function provider(id: string, keys: UpstreamKey[], members: Partial<Provider> = {}): Provider {
  return {
    id,
    name: id,
    dialect: 'openai-chat',
    baseUrl: 'https://provider.test/v1',
    auth: 'bearer',
    headers: {},
    keys,
    timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1 },
    billsAfterDisconnect: false,
    ...members,
  }
}

function snapshot(providers: Provider[], targets: ModelTarget[], modelId = 'm'): Snapshot {
  return { version: 1, keys: [], providers, models: [{ id: modelId, created: 0, ownedBy: 'test', targets }] }
}

function target(providerId: string, members: Partial<ModelTarget> = {}): ModelTarget {
  return { providerId, upstreamModel: 'upstream-m', weight: 1, ...members }
}

function scheduler(
  config: Snapshot,
  options: { random?: () => number; processes?: number; nowMs?: () => number } = {},
): Scheduler {
  const clock = { now: options.nowMs ?? (() => NOW), monotonicUs: () => 0 }
  const made = new Scheduler({ processes: options.processes ?? 1, random: options.random ?? Math.random, clock })
  made.update(config)
  return made
}

describe('Scheduler', () => {
  it('never gives more slots of a key than it has, over any history', () => {
    const step = fc.record({
      release: fc.boolean(),
      at: fc.nat(),
      random: fc.double({ min: 0, max: 0.99, noNaN: true }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 5 }), (steps, capacity) => {
        let random = 0
        const keys = ['a', 'b', 'c'].map((id) => upstreamKey(id, { maxConcurrency: capacity }))
        const scheduling = scheduler(snapshot([provider('p', keys)], [target('p')]), { random: () => random })
        const deployments = scheduling.deployments('m', 'openai-chat')
        const held: Slot[] = []
        for (const { release, at, random: point } of steps) {
          random = point
          if (release) held.splice(at % (held.length || 1), 1)[0]?.release({ kind: 'ok' })
          else {
            const slot = scheduling.acquire(deployments, NONE, NOW)
            if (slot === null) expect(held.length).toBe(3 * capacity)
            else held.push(slot)
          }
          for (const { id } of keys) {
            const mine = held.filter((slot) => slot.deployment.key.id === id).length
            expect(scheduling.inFlight(id)).toBe(mine)
            expect(mine).toBeLessThanOrEqual(capacity)
          }
        }
      }),
    )
  })

  it('uses its share of the slots when several processes serve', () => {
    const config = snapshot([provider('p', [upstreamKey('a', { maxConcurrency: 9 })])], [target('p')])
    const scheduling = scheduler(config, { processes: 4 })
    const deployments = scheduling.deployments('m', 'openai-chat')
    expect(scheduling.acquire(deployments, NONE, NOW)).not.toBeNull()
    expect(scheduling.acquire(deployments, NONE, NOW)).not.toBeNull()
    expect(scheduling.acquire(deployments, NONE, NOW)).toBeNull()
  })

  it('divides by weight', () => {
    const config = snapshot([provider('p', [upstreamKey('a', { weight: 3 }), upstreamKey('b')])], [target('p')])
    let point = 0
    const scheduling = scheduler(config, { random: () => point })
    const deployments = scheduling.deployments('m', 'openai-chat')
    const counts = { a: 0, b: 0 }
    for (let i = 0; i < 100; i++) {
      point = i / 100
      const slot = scheduling.acquire(deployments, NONE, NOW)
      counts[slot?.deployment.key.id as 'a' | 'b'] += 1
      slot?.release({ kind: 'ok' })
    }
    expect(counts).toEqual({ a: 75, b: 25 })
  })

  it('leaves a rate-limited key alone for as long as it asked', () => {
    let nowMs = NOW
    const scheduling = scheduler(snapshot([provider('p', [upstreamKey('a')])], [target('p')]), { nowMs: () => nowMs })
    const deployments = scheduling.deployments('m', 'openai-chat')
    scheduling.acquire(deployments, NONE, nowMs)?.release({ kind: 'rate-limited', retryAfterSeconds: 7 })
    nowMs += 6_999
    expect(scheduling.acquire(deployments, NONE, nowMs)).toBeNull()
    expect(scheduling.secondsUntilRoom(deployments, nowMs)).toBe(1)
    expect(scheduling.capacity(nowMs)).toEqual({ keys: 1, availableKeys: 0, totalConcurrency: 0 })
    nowMs += 1
    expect(scheduling.acquire(deployments, NONE, nowMs)).not.toBeNull()
  })

  it('rests a key after five failures in a row, not after five with a success between', () => {
    const scheduling = scheduler(snapshot([provider('p', [upstreamKey('a')])], [target('p')]))
    const deployments = scheduling.deployments('m', 'openai-chat')
    const end = (kind: 'ok' | 'failed'): void => scheduling.acquire(deployments, NONE, NOW)?.release({ kind })
    for (const kind of [
      'failed',
      'failed',
      'failed',
      'failed',
      'ok',
      'failed',
      'failed',
      'failed',
      'failed',
    ] as const) {
      end(kind)
    }
    expect(scheduling.acquire(deployments, NONE, NOW)).not.toBeNull()
    end('failed')
    expect(scheduling.acquire(deployments, NONE, NOW)).toBeNull()
  })

  it('skips tried and disabled keys, and other dialects', () => {
    const config = snapshot(
      [
        provider('p', [upstreamKey('a'), upstreamKey('off', { enabled: false })]),
        provider('q', [upstreamKey('b')], { dialect: 'anthropic-messages' }),
      ],
      [target('p'), target('q')],
    )
    const scheduling = scheduler(config)
    const deployments = scheduling.deployments('m', 'openai-chat')
    expect(deployments.map(({ key }) => key.id)).toEqual(['a'])
    expect(scheduling.acquire(deployments, new Set(['a']), NOW)).toBeNull()
  })

  it('serves a pattern with the name that was asked for', () => {
    const config = snapshot([provider('p', [upstreamKey('a')])], [target('p', { upstreamModel: 'vendor/*' })], 'big-*')
    const [deployment] = scheduler(config).deployments('big-$&-model', 'openai-chat')
    expect(deployment?.upstreamModel).toBe('vendor/$&-model')
    expect(() => scheduler(config).deployments('small-model', 'openai-chat')).toThrow(/does not exist/)
  })

  it('gives a slot back once, and keeps its count when the configuration is replaced', () => {
    const config = snapshot([provider('p', [upstreamKey('a', { maxConcurrency: 1 })])], [target('p')])
    const scheduling = scheduler(config)
    const slot = scheduling.acquire(scheduling.deployments('m', 'openai-chat'), NONE, NOW)
    scheduling.update(config)
    const deployments = scheduling.deployments('m', 'openai-chat')
    expect(scheduling.acquire(deployments, NONE, NOW)).toBeNull()
    slot?.release({ kind: 'ok' })
    slot?.release({ kind: 'ok' })
    expect(scheduling.inFlight('a')).toBe(0)
  })
})
