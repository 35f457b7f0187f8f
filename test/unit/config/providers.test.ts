import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { configSchema } from '../../../src/shared/config/schema.ts'
import { findProblem } from '../../../src/shared/config/check.ts'
import { parseBaseUrl } from '../../../src/shared/config/address.ts'
import { quirksSchema } from '../../../src/shared/config/quirks.ts'
import { servicesOf, servicesSchema } from '../../../src/shared/config/services.ts'
import { serviceCodec } from '../../../src/dialects/services/codecs.ts'
import { KNOWN_PROVIDERS } from '../../../src/shared/config/providers/known.ts'

const LOCAL = new Set(['127.0.0.1', 'localhost'])

it('knows hosts by unique ids and unique prefixes', () => {
  expect(KNOWN_PROVIDERS.length).toBeGreaterThanOrEqual(32)
  expect(new Set(KNOWN_PROVIDERS.map(({ id }) => id)).size).toBe(KNOWN_PROVIDERS.length)
  expect(new Set(KNOWN_PROVIDERS.map(({ prefix }) => prefix)).size).toBe(KNOWN_PROVIDERS.length)
})

it('names all of them in the example', () => {
  const example = readFileSync(new URL('../../../config/sluice.example.yaml', import.meta.url), 'utf8')
  const page = readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8')
  const named = new Set(example.match(/\b[A-Z][A-Z0-9_]+\b/g))

  expect(KNOWN_PROVIDERS.filter(({ prefix }) => !named.has(prefix))).toEqual([])
  expect(page).toContain(`knows ${KNOWN_PROVIDERS.length} providers by name`)
})

describe.each(KNOWN_PROVIDERS)(
  '$id',
  ({ id, name, prefix, baseUrl, basePath, models, quirks, selfHosted, apiVersions, services, converses, ...rest }) => {
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

    it('has services that the file could have given it, or conversations', () => {
      const entry = Object.fromEntries(
        Object.entries(services ?? {}).map(([service, list]) => [service, list.map(inWordsOfTheFile)]),
      )

      expect(findProblem(servicesSchema, entry)).toBeNull()
      expect(servicesOf(entry as never, {})).toEqual(services ?? {})
      expect(converses === false && Object.keys(entry).length === 0).toBe(false)
      for (const list of Object.values(services ?? {})) {
        // What stands behind an entry for all models would never be asked.
        expect(list.findIndex((one) => one.models === undefined)).toBe(list.length - 1)
        for (const { protocol, base = '/v1' } of list) {
          expect(serviceCodec(protocol).path(base.replace(/\/$/, ''), 'a/b:c')).toMatch(/^(?:\/[\w.%-]+)+(?::\w+)?$/)
        }
      }
    })
  },
)

function inWordsOfTheFile(service: object): object {
  return Object.fromEntries(Object.entries(service).map(([name, value]) => [quirkName(name), value as unknown]))
}

/** The name in the file of a quirk of the code. */
function quirkName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
