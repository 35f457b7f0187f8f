import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Compile } from 'typebox/compile'
import { expect, it } from 'vitest'
import { exampleBody } from '../../../src/shared/api/code-samples.ts'
import { openApiDocument } from '../../../src/shared/api/openapi.ts'
import type { OperationSpec } from '../../../src/shared/api/operation.ts'
import { OPERATIONS } from '../../../src/shared/api/operations/index.ts'
import { ENTERPRISE_ACTIONS } from '../../../src/shared/api/roles.ts'
import type { DescribedEndpoint } from '../../../src/shared/api/described-endpoint.ts'
import { TOOL_ENDPOINTS } from '../../../src/shared/api/tool-endpoints.ts'
import { describedEndpoints } from '../../../src/shared/endpoints/index.ts'

interface CodeSample {
  lang: string
  source: string
}

interface Told {
  operationId: string
  security: unknown[]
  requestBody?: unknown
  'x-codeSamples': CodeSample[]
}

const document = JSON.parse(
  JSON.stringify(openApiDocument('1.2.3', [...describedEndpoints('anthropic'), ...TOOL_ENDPOINTS])),
) as {
  paths: Record<string, Record<string, Told>>
}

const AI_PATHS = [
  '/v1/chat/completions',
  '/v1/messages',
  '/v1/responses',
  '/v1/embeddings',
  '/v1/rerank',
  '/v1/images/generations',
  '/v1/video/generations',
  '/v1/video/generations/{id}',
  '/v1/video/generations/{id}/content',
  '/v1/models',
  '/v1/models/{id}',
]

/** The answers of operations that redirect: the linter misses a 2XX. */
const REDIRECTS = Object.values<OperationSpec>(OPERATIONS)
  .filter(({ answer }) => answer.status === 302)
  .map(({ path, method }) => `#/paths/${path.replaceAll('/', '~1')}/${method.toLowerCase()}/responses`)

it('has nothing that a linter of OpenAPI documents finds fault with', async () => {
  const config = await createConfig({ extends: ['recommended-strict'] })
  const problems = await lintFromString({ source: JSON.stringify(document), config })
  const found = problems.map(({ message, location }) => [message, location[0]?.pointer])
  expect(found.filter(([, pointer]) => !REDIRECTS.includes(pointer ?? ''))).toEqual([])
})

it('tells of every operation, and who may call it', () => {
  const told = new Map(
    Object.values(document.paths).flatMap((path) =>
      Object.values(path).map((told) => [told.operationId, told] as const),
    ),
  )
  for (const [name, { access }] of Object.entries(OPERATIONS)) {
    expect(told.get(name)?.security, name).toEqual(access === 'everyone' ? [] : [{ session: [] }])
  }
})

it('tells of every path of the AI endpoints, also of those under the name of the vendor', () => {
  for (const path of [...AI_PATHS, '/anthropic/v1/messages', '/anthropic/v1/messages/count_tokens']) {
    expect(Object.keys(document.paths), path).toContain(path)
  }
})

it('names the enterprise in the path of whatever is done in one', () => {
  const specs: readonly OperationSpec[] = Object.values(OPERATIONS)
  const within = specs.filter(({ access }) => Object.hasOwn(ENTERPRISE_ACTIONS, access))
  expect(within.length).toBeGreaterThan(20)
  for (const { path } of within) expect(path).toMatch(/^\/v1\/enterprise\/\{id\}/)
})

it('shows a call of every operation in three languages, with the credential that it takes', () => {
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const { operationId, security, 'x-codeSamples': samples } of Object.values(operations)) {
      expect(
        samples.map(({ lang }) => lang),
        operationId,
      ).toEqual(['shell', 'javascript', 'python'])
      const shown = JSON.stringify(security).includes('session') ? 'SLUICE_TOKEN' : 'SLUICE_KEY'
      for (const { source } of samples) {
        expect(source, operationId).toContain(path)
        if (security.length === 0) expect(source, operationId).not.toMatch(/SLUICE_(KEY|TOKEN)/)
        else expect(source, operationId).toContain(shown)
      }
    }
  }
})

it('shows bodies that the operations take', () => {
  const specs: ReadonlyArray<readonly [string, OperationSpec]> = Object.entries(OPERATIONS)
  const endpoints: readonly DescribedEndpoint[] = describedEndpoints('anthropic')
  const calls = [
    ...specs.map(([name, { body }]) => ({ name, body, example: undefined })),
    ...endpoints.map(({ operation: name, body, example }) => ({ name, body, example })),
  ].flatMap(({ name, body, example }) => (body === undefined ? [] : [{ name, body, example }]))
  expect(calls.length).toBeGreaterThan(30)
  for (const call of calls) {
    const [, errors] = Compile(call.body).Errors(exampleBody(call.body, call.example)) as unknown as [
      boolean,
      unknown[],
    ]
    expect(errors ?? [], call.name).toEqual([])
  }
})

it('tells that management refuses unknown fields, and which operations need a body', () => {
  const bodies = Object.values(document.paths).flatMap((path) =>
    Object.values(path).map(({ operationId, requestBody }) => [operationId, requestBody] as const),
  )
  const told = new Map(bodies)
  const schemas = (document as unknown as { components: { schemas: Record<string, object> } }).components.schemas
  for (const [name, { body }] of Object.entries<OperationSpec>(OPERATIONS)) {
    if (body === undefined) continue
    const { required, content } = told.get(name) as {
      required: boolean
      content: Record<string, { schema: { $ref?: string } }>
    }
    const schema = content['application/json']?.schema ?? {}
    const noun = schema.$ref?.split('/').at(-1)
    expect(noun === undefined ? schema : schemas[noun], name).toMatchObject({ additionalProperties: false })
    expect(required, name).toBe((body.required ?? []).length > 0)
  }
})

it('has one schema for each noun: whatever stands in several answers is a reference', () => {
  const { components, paths } = document as unknown as {
    components: { schemas: Record<string, unknown> }
    paths: unknown
  }
  const named = new Map(Object.entries(components.schemas).map(([name, schema]) => [JSON.stringify(schema), name]))
  const repeated = new Set<string>()
  const walk = (value: unknown, isTop: boolean): void => {
    if (value === null || typeof value !== 'object') return
    const name = isTop ? undefined : named.get(JSON.stringify(value))
    if (name !== undefined) repeated.add(name)
    for (const member of Object.values(value)) walk(member, false)
  }
  walk(paths, false)
  for (const schema of Object.values(components.schemas)) walk(schema, true)
  expect([...repeated]).toEqual([])
  expect(Object.keys(components.schemas)).toEqual(
    expect.arrayContaining(['Enterprise', 'EnterpriseKey', 'Spend', 'Wallet']),
  )
})
