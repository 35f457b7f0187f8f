import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { read, readError } from './load.ts'

const OPENAPI =
  'openapi: 3.1.0\ninfo: { title: Shop, version: "1" }\npaths: { /pets: { get: { operationId: pets } } }\n'

const server = (members: string) => `mcp: {servers: [{id: notes, url: "https://notes.example.com/mcp", ${members}}]}`
const refusal = (members: string, files: Record<string, string> = {}): string =>
  readError({ yaml: server(members), files }).message

it('a tool server does not have the name of the own tools', () => {
  const { message } = readError({ yaml: 'mcp:\n  servers:\n    - {id: sluice, url: "https://tools.example.com/mcp"}' })
  expect(message).toBe(
    "sluice.yaml:3:12: mcp.servers[0].id: sluice is the name of the gateway's own tools: choose another id",
  )
})

describe('a tool server with OAuth', () => {
  it('has a client and scopes, and shows no secret', () => {
    const members = 'auth: oauth, oauth_client_id: sluice, oauth_client_secret: CANARY, oauth_scopes: [read, write]'
    const [notes] = read({ yaml: server(members) }).mcp.servers
    expect(notes).toMatchObject({ oauth: { clientId: 'sluice', scopes: ['read', 'write'] }, clientSecret: 'CANARY' })
    expect(JSON.stringify(notes) + inspect(notes)).not.toContain('CANARY')
    expect(read({ yaml: server('enabled: true') }).mcp.servers[0]?.oauth).toBeNull()
    expect(read({ yaml: server('auth: oauth') }).mcp.servers[0]?.oauth).toEqual({ clientId: null, scopes: [] })
  })

  it.each([
    ['oauth_client_id: x', 'oauth_client_id needs auth: oauth'],
    ['oauth_scopes: [x]', 'oauth_scopes needs auth: oauth'],
    ['auth: oauth, oauth_client_secret: x', 'oauth_client_secret needs oauth_client_id'],
    ['auth: oauth, headers: {Authorization: x}', 'the header authorization belongs to the user'],
    ['auth: oauth, oauth_scopes: ["a b"]', 'must be single scopes'],
  ])('refuses %s', (members, reason) => {
    expect(refusal(members)).toContain(reason)
  })

  it('is no program', () => {
    const { message } = readError({ yaml: 'mcp: {servers: [{id: notes, command: x, auth: oauth}]}' })
    expect(message).toContain('auth: oauth is for tool servers with a url')
  })
})

describe('an HTTP API in the file', () => {
  it('has its OpenAPI document from another file', () => {
    const { mcp } = read({ yaml: server('openapi: "${file:shop.yaml}"'), files: { 'shop.yaml': OPENAPI } })
    expect(mcp.servers[0]?.place).toMatchObject({
      transport: 'openapi',
      document: { digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string, leftOut: [] },
    })
    expect(mcp.documents.get('notes')).toBe(OPENAPI.trimEnd())
  })

  it.each([
    ['openapi: "${file:shop.yaml}", transport: sse', OPENAPI, 'transport must not be set with openapi'],
    ['openapi: "${file:shop.yaml}", auth: oauth', OPENAPI, 'neither for programs, nor for HTTP APIs'],
    ['openapi: "${file:shop.yaml}"', 'swagger: "2.0"', 'Swagger 2.0 is not read'],
    ['openapi: "${file:shop.yaml}"', 'openapi: 3.1.0\npaths: [', 'neither JSON nor YAML'],
  ])('refuses %s of %s', (members, text, reason) => {
    expect(refusal(members, { 'shop.yaml': text })).toContain(reason)
  })
})
