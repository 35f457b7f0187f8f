import { expect } from 'vitest'

// A built body, read freely.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Json = any

const SCHEMA_KEYWORDS = new Set(
  (
    'type format title description nullable enum items minItems maxItems properties required propertyOrdering minimum ' +
    'maximum minLength maxLength pattern anyOf default example minProperties maxProperties'
  ).split(' '),
)
const TYPES = ['STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT']
const BODY = ['contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig']

/** What the service refuses requests for. */
export function expectAcceptable(body: Json, id: string): void {
  expect(
    Object.keys(body).filter((name) => !BODY.includes(name)),
    id,
  ).toEqual([])
  let calls: string[] = []
  let before = 'model'
  for (const { role, parts } of body.contents) {
    expect(role, `${id}: turns`).toBe(before === 'user' ? 'model' : 'user')
    before = role
    expect(parts.length, `${id}: an empty turn`).toBeGreaterThan(0)
    const responses = parts.flatMap((part: Json) => part.functionResponse?.name ?? [])
    expect(responses, `${id}: a result for each call`).toEqual(calls)
    // Results stand ahead of all else.
    expect(parts.slice(0, calls.length).every((part: Json) => part.functionResponse !== undefined)).toBe(true)
    calls = parts.flatMap((part: Json) => part.functionCall?.name ?? [])
    parts.forEach((part: Json) => {
      expectPart(part, id)
    })
  }
  expect(calls, `${id}: calls at the end`).toEqual([])
  for (const declaration of body.tools?.[0].functionDeclarations ?? []) {
    expect(declaration.name, id).toMatch(/^[A-Za-z_][\w.:-]{0,63}$/)
    if (declaration.parameters !== undefined) {
      expect(declaration.parameters.type, id).toBe('OBJECT')
      expectSchema(declaration.parameters, id)
    }
  }
  if (body.generationConfig?.responseSchema) expectSchema(body.generationConfig.responseSchema, id)
  expect(body.generationConfig?.stopSequences?.length ?? 0, id).toBeLessThanOrEqual(5)
}

function expectPart(part: Json, id: string): void {
  const data = Object.keys(part).filter((name) => name !== 'thought' && name !== 'thoughtSignature')
  expect(data.length, `${id}: ${JSON.stringify(part).slice(0, 200)}`).toBe(1)
  expect(data[0], id).toMatch(/^(?:text|inlineData|fileData|functionCall|functionResponse)$/)
  for (const object of [part.functionCall?.args, part.functionResponse?.response]) {
    if (object !== undefined) expect(Object.prototype.toString.call(object), id).toBe('[object Object]')
  }
}

function expectSchema(schema: Json, id: string): void {
  for (const name of Object.keys(schema)) expect(SCHEMA_KEYWORDS.has(name), `${id}: ${name}`).toBe(true)
  if (schema.anyOf) {
    expect(Object.keys(schema), id).toEqual(['anyOf'])
    for (const variant of schema.anyOf) expectSchema(variant, id)
    return
  }
  expect(TYPES, id).toContain(schema.type)
  if (schema.enum)
    expect(
      schema.enum.every((value: unknown) => typeof value === 'string' && value !== ''),
      id,
    ).toBe(true)
  if (schema.type === 'ARRAY') expect(schema.items, id).toBeDefined()
  if (schema.items) expectSchema(schema.items, id)
  for (const name of schema.required ?? []) expect(Object.keys(schema.properties), id).toContain(name)
  for (const property of Object.values(schema.properties ?? {})) expectSchema(property, id)
}
