import { describe, expect, it } from 'vitest'
import { readDocument } from '../../../src/shared/config/openapi-document.ts'
import { requestOf } from '../../../src/control/mcp/openapi/operation-request.ts'
import { operationsOf } from '../../../src/control/mcp/openapi/operations.ts'
import type { ApiOperation } from '../../../src/control/mcp/openapi/operations.ts'
import { GatewayError } from '../../../src/shared/core/errors.ts'
import fc from '../../support/fast-check.ts'

const SHOP = `
openapi: 3.0.3
info: {title: Shop, version: "1"}
paths:
  /pets/{petId}:
    parameters:
      - $ref: '#/components/parameters/PetId'
    get:
      operationId: getPet
      summary: One pet
      parameters:
        - {name: fields, in: query, explode: false, schema: {type: array, items: {type: string}}}
        - {name: tags, in: query, schema: {type: array, items: {type: string}}}
        - {name: filter, in: query, style: deepObject, explode: true, schema: {type: object}}
        - {name: X-Trace, in: header, schema: {type: string}}
        - {name: Authorization, in: header, required: true, schema: {type: string}}
        - {name: session, in: cookie, schema: {type: string}}
    put:
      description: Replaces a pet.
      requestBody:
        required: true
        content:
          application/json: {schema: {$ref: '#/components/schemas/Pet'}}
  /files:
    post:
      requestBody: {content: {multipart/form-data: {schema: {type: object}}}}
  /forms:
    post:
      operationId: send form!
      requestBody: {content: {application/x-www-form-urlencoded: {schema: {type: object}}}}
  /login:
    get:
      parameters: [{name: sid, in: cookie, required: true, schema: {type: string}}]
components:
  parameters:
    PetId: {name: petId, in: path, required: true, description: Its id., schema: {type: string}}
  schemas:
    Pet:
      type: object
      required: [id, name]
      properties:
        id: {type: integer, readOnly: true}
        name: {type: string, nullable: true, example: Rex}
        age: {type: integer, minimum: 0, exclusiveMinimum: true}
        parent: {$ref: '#/components/schemas/Pet'}
        kind: {$ref: 'https://example.com/kinds.json'}
`

const { operations, leftOut } = operationsOf(readDocument(SHOP, '/document'))

function operation(name: string): ApiOperation {
  const found = operations.find(({ tool }) => tool.name === name)
  if (found === undefined) throw new Error(`no operation ${name}`)
  return found
}

describe('an OpenAPI document', () => {
  it('gives tools with plain schemas, and says what it leaves out', () => {
    expect(operations.map(({ tool }) => tool.name)).toEqual(['getPet', 'put_pets_petId', 'send_form'])
    expect(operation('getPet').tool).toMatchObject({
      description: 'One pet',
      annotations: { readOnlyHint: true, destructiveHint: false },
      inputSchema: { required: ['petId'], properties: { petId: { type: 'string', description: 'Its id.' } } },
    })
    expect(Object.keys(operation('getPet').tool.inputSchema.properties ?? {})).toEqual([
      'petId',
      'fields',
      'tags',
      'filter',
      'X-Trace',
    ])
    expect(operation('put_pets_petId').tool.inputSchema.properties?.['body']).toEqual({
      type: 'object',
      required: ['name'],
      properties: {
        name: { type: ['string', 'null'] },
        age: { type: 'integer', exclusiveMinimum: 0 },
        // It contains itself; another document is not read.
        parent: {},
        kind: {},
      },
    })
    expect(leftOut).toEqual([
      { operation: 'POST /files', reason: 'its body is multipart/form-data' },
      { operation: 'GET /login', reason: 'its parameter "sid" is required in cookie' },
    ])
  })

  it('is refused with a reason when it cannot be read', () => {
    const reasons: Array<readonly [string, string]> = [
      ['swagger: "2.0"', 'Swagger 2.0'],
      ['openapi: 4.0.0\npaths: {}', '3.0 or 3.1'],
      ['openapi: 3.1.0', 'no paths'],
      ['a: [', 'line 1'],
      ['- 1', 'must be an object'],
      [`a: &a [1]\nb: &b [${'*a,'.repeat(60)}]\nc: &c [${'*b,'.repeat(60)}]\nd: [${'*c,'.repeat(60)}]`, 'aliases'],
      [' '.repeat(2_097_153), 'larger than'],
    ]
    for (const [text, reason] of reasons)
      expect(() => readDocument(text, '/document'), text.slice(0, 20)).toThrow(reason)
    expect(readDocument('{"openapi":"3.1.0","paths":{}}', '/document')).toEqual({ openapi: '3.1.0', paths: {} })
  })
})

describe('a request for an operation', () => {
  it('has each argument where it belongs', () => {
    const input = { petId: 'a/b?c', fields: ['x', 'y'], tags: ['p q', 'r'], filter: { a: 1 }, 'X-Trace': 't' }
    expect(requestOf(operation('getPet'), 'https://api.example.com/v1/?key=k', input)).toEqual({
      method: 'GET',
      url: 'https://api.example.com/v1/pets/a%2Fb%3Fc?key=k&fields=x%2Cy&tags=p+q&tags=r&filter%5Ba%5D=1',
      headers: { accept: expect.any(String) as string, 'x-trace': 't' },
      body: null,
    })
    expect(requestOf(operation('put_pets_petId'), 'https://a.b', { petId: 7, body: { name: null } })).toMatchObject({
      method: 'PUT',
      url: 'https://a.b/pets/7',
      headers: { 'content-type': 'application/json' },
      body: '{"name":null}',
    })
    expect(requestOf(operation('send_form'), 'https://a.b', { body: { a: [1, 2], b: 'c d' } }).body).toBe(
      'a=1&a=2&b=c+d',
    )
  })

  it('refuses what is missing, and what would leave its path', () => {
    const refused = (input: Record<string, unknown>, name = 'getPet') => {
      try {
        requestOf(operation(name), 'https://a.b/v1', input)
        return null
      } catch (cause) {
        return cause instanceof GatewayError ? cause.param : cause
      }
    }
    expect(refused({})).toBe('/petId')
    expect(refused({ petId: '..' })).toBe('/petId')
    expect(refused({ petId: '' })).toBe('/petId')
    expect(refused({ petId: '1', 'X-Trace': 'a\r\nb: c' })).toBe('/X-Trace')
    expect(refused({ petId: '1' }, 'put_pets_petId')).toBe('/body')
  })

  it('stays below the address of the server, whatever the arguments are', () => {
    const argument = fc.oneof(fc.string(), fc.constantFrom('..', '%2e%2e', './..', '//evil', '\\..\\x'), fc.jsonValue())
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('petId', 'fields', 'tags', 'filter', 'X-Trace'), argument), (input) => {
        let url: URL
        try {
          url = new URL(requestOf(operation('getPet'), 'https://a.b/v1', input).url)
        } catch (cause) {
          expect(cause).toBeInstanceOf(GatewayError)
          return
        }
        expect(url.origin).toBe('https://a.b')
        expect(url.pathname.split('/')).toHaveLength(4)
        expect(url.pathname.startsWith('/v1/pets/')).toBe(true)
        expect(url.hash).toBe('')
      }),
    )
  })
})
