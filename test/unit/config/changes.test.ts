import { expect, it } from 'vitest'
import { configChanges } from '../../../src/shared/config/changes.ts'
import { schemaAt } from '../../../src/shared/config/check.ts'
import { isObject } from '../../../src/shared/config/is-object.ts'
import { configSchema } from '../../../src/shared/config/schema.ts'
import type { Config } from '../../../src/shared/config/shape.ts'
import { read } from './load.ts'

const FIRST = `
data_dir: /tmp/x
upstreams:
  - {id: a, provider: openai, keys: [{credential: one}]}
  - {id: b, provider: groq, keys: [{credential: two}]}
fallbacks: {gpt-4o: [gpt-4o-mini]}
`

it('tells what is added, removed and changed, and takes it', () => {
  const running = read({ yaml: FIRST })
  const fresh = read({
    yaml: `
data_dir: /tmp/x
upstreams:
  - {id: a, provider: openai, keys: [{credential: other}]}
  - {id: c, provider: xai, keys: [{credential: two}]}
fallbacks: {gpt-4o: [gpt-4o-mini], o3: [gpt-5]}
model_groups: [{id: frontier, models: [gpt-5]}]
upstream: {timeouts: {idle_ms: 7}}
`,
  })
  const changes = configChanges(running, fresh, false)
  expect(changes).toMatchObject({ needRestart: [], isNewCertificate: false })
  expect(changes.live).toEqual([
    'upstreams: added c',
    'upstreams: removed b',
    'upstreams: changed a',
    'model_groups: added frontier',
    'fallbacks: added o3',
    'upstream.timeouts: changed',
  ])
  expect(changes.config.upstreams).toBe(fresh.upstreams)
  expect(changes.config.modelGroups).toBe(fresh.modelGroups)
  expect(changes.config.upstream.timeouts.idleMs).toBe(7)
})

it('keeps what needs a restart, and names it as the file does', () => {
  const running = read({ yaml: FIRST })
  const more =
    'limits: {key_defaults: {requests_per_minute: 5}}\nauth: {registration: open}\nserver: {port: 1}\nredis: {url: "redis://h"}\n'
  const changes = configChanges(running, read({ yaml: FIRST + more }), false)
  expect(changes.live).toEqual([])
  expect([...changes.needRestart].sort()).toEqual([
    'auth.registration',
    'limits.key_defaults.requests_per_minute',
    'redis',
    'server.port',
  ])
  expect(changes.config).toMatchObject({ server: { port: 8787 }, registrationOpen: false, redis: { address: null } })
})

it('finds no change in the same file, and another order of upstreams', () => {
  const running = read({ yaml: FIRST })
  expect(configChanges(running, read({ yaml: FIRST }), false)).toMatchObject({ live: [], needRestart: [] })
  const reordered = { ...running, upstreams: running.upstreams.toReversed() }
  expect(configChanges(running, reordered, false).live).toEqual(['upstreams: another order'])
})

it('names every setting as the file does', () => {
  const running = read({
    yaml: `
mail: {smtp: {url: "smtp://h", from: a@b.c}}
redis: {url: "redis://h"}
`,
  })
  // Those for people are made of the others.
  const paths = leaves(running).filter(([first]) => first !== 'shownSettings')
  const wrong = paths.flatMap((path) => {
    const { live, needRestart } = configChanges(running, withOther(running, path) as Config, false)
    const names = [...new Set([...live.map((text) => text.split(': ', 1)[0] ?? ''), ...needRestart])]
    return names.length === 1 && names.every((name) => schemaAt(configSchema, name.split('.')) !== undefined)
      ? []
      : [[path.join('.'), ...names].join(' ')]
  })
  expect(wrong).toEqual([])
})

it('names twenty entries of a section at most', () => {
  const running = read({ yaml: FIRST })
  const fallbacks = Object.fromEntries(Array.from({ length: 25 }, (_, at) => [`m${at}`, ['gpt-4o']]))
  const { live } = configChanges(running, { ...running, fallbacks: { ...running.fallbacks, ...fallbacks } }, false)
  expect(live).toEqual([expect.stringMatching(/^fallbacks: added m0, .*, m19 and 5 more$/)])
})

it('keeps HTTP until a restart when the file asks for HTTPS', () => {
  const running = read({ yaml: FIRST })
  const secure: Config = { ...running, server: { ...running.server, tls: { certFile: '/c', keyFile: '/k' } } }
  const changes = configChanges(running, secure, true)
  expect(changes).toMatchObject({ live: [], needRestart: ['server.tls'], isNewCertificate: false })
  expect(changes.config.server.tls).toBeNull()
})

/** The paths of all values of a configuration; lists, and what the file holds by name, are values. */
function leaves(value: unknown, path: readonly string[] = []): string[][] {
  const [section = ''] = path
  const isOpen = isObject(value) && !['fallbacks', 'models', 'upstreams', 'keys', 'file'].includes(section)
  if (!isOpen) return section === 'file' ? [] : [[...path]]
  return Object.entries(value).flatMap(([name, member]) => leaves(member, [...path, name]))
}

function withOther(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name !== undefined) {
    const members = value as Record<string, unknown>
    return { ...members, [name]: withOther(members[name], rest) }
  }
  if (Array.isArray(value)) return [{ id: 'other', name: 'other', provider: null }]
  return isObject(value) ? { other: [] } : `other than ${String(value)}`
}
