import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { configSchema } from '../../../src/config/schema.ts'
import { findProblem } from '../../../src/config/check.ts'
import { parseBaseUrl } from '../../../src/config/address.ts'
import { quirksSchema } from '../../../src/config/quirks.ts'
import { KNOWN_PROVIDERS } from '../../../src/config/providers/known.ts'

const LOCAL = new Set(['127.0.0.1', 'localhost'])

it('knows hosts by unique ids and unique prefixes', () => {
  expect(KNOWN_PROVIDERS.length).toBeGreaterThanOrEqual(32)
  expect(new Set(KNOWN_PROVIDERS.map(({ id }) => id)).size).toBe(KNOWN_PROVIDERS.length)
  expect(new Set(KNOWN_PROVIDERS.map(({ prefix }) => prefix)).size).toBe(KNOWN_PROVIDERS.length)
})

it('names all of them in the example', () => {
  const example = readFileSync(new URL('../../../config/sluice.example.yaml', import.meta.url), 'utf8')
  const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')
  const named = new Set(example.match(/\b[A-Z][A-Z0-9_]+\b/g))

  expect(KNOWN_PROVIDERS.filter(({ prefix }) => !named.has(prefix))).toEqual([])
  expect(readme).toContain(`${KNOWN_PROVIDERS.length} providers are known by name`)
})

describe.each(KNOWN_PROVIDERS)(
  '$id',
  ({ id, name, prefix, baseUrl, basePath, models, quirks, selfHosted, apiVersions, ...rest }) => {
    it('is a provider that the file can name', () => {
      const file = {
        upstreams: [{ id, provider: id, headers: {}, keys: [], priority: 0, bills_after_disconnect: false }],
      }
      const problem = findProblem(configSchema, file)

      expect(problem?.path.slice(0, 1)).not.toEqual(['upstreams'])
      expect(id).toMatch(/^[a-z][a-z0-9-]+$/)
      expect(prefix).toMatch(/^[A-Z][A-Z0-9_]+$/)
      expect(name).not.toBe('')
      expect(Object.keys(rest).sort()).toEqual(['auth', 'dialect'])
    })

    it('is reached over TLS, unless it runs here', () => {
      if (baseUrl === null) return
      const { protocol, hostname } = new URL(baseUrl)

      expect(parseBaseUrl(baseUrl)).toEqual({ url: baseUrl })
      expect(baseUrl).not.toMatch(/\/(chat\/completions|messages)$/)
      expect(protocol === 'https:' || (selfHosted === true && LOCAL.has(hostname))).toBe(true)
      if (basePath !== undefined) expect(baseUrl.endsWith(basePath)).toBe(true)
    })

    it('lists each model once, patterns behind those they would hide', () => {
      const ids = models.map((model) => (typeof model === 'string' ? model : model.id))

      expect(ids.length).toBeGreaterThan(0)
      expect(new Set(ids).size).toBe(ids.length)
      for (const model of models) {
        const { id: asked, upstreamModel } = typeof model === 'string' ? { id: model, upstreamModel: model } : model
        expect(asked).not.toMatch(/\*./)
        expect(upstreamModel.endsWith('*')).toBe(asked.endsWith('*'))
      }
      const firstPattern = ids.findIndex((model) => model.endsWith('*'))
      expect(ids.slice(firstPattern).every((model) => model.endsWith('*'))).toBe(true)
    })

    it('has quirks that the file could have given it', () => {
      const entry = Object.fromEntries(Object.entries(quirks ?? {}).map(([quirk, value]) => [quirkName(quirk), value]))

      expect(findProblem(quirksSchema, entry)).toBeNull()
    })
  },
)

/** The name in the file of a quirk of the code. */
function quirkName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
