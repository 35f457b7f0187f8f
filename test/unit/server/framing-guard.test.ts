import { describe, expect, it } from 'vitest'
import type { CopiedHeaders } from '../../../src/front/server/framing-guard.ts'
import { copyHeaders, isMethod, isTarget, wantsClose } from '../../../src/front/server/framing-guard.ts'
import fc from '../../support/fast-check.ts'

type Field = readonly [name: string, value: string]

function copy(...fields: Field[]): CopiedHeaders {
  return copyHeaders({
    forEach: (visit) => {
      for (const [name, value] of fields) visit(name, value)
    },
  })
}

const HOST: Field = ['host', 'gateway']
const LENGTH: Field = ['content-length', '5']
const CHUNKED: Field = ['transfer-encoding', 'chunked']

describe('a head that can be trusted', () => {
  it('is copied, with repeated fields joined in order', () => {
    const { headers, fault, chunked, contentLength } = copy(HOST, LENGTH, ['x-a', '1'], ['x-a', '2'], ['x-a', ''])
    expect(fault).toBeNull()
    expect({ ...headers }).toEqual({ host: 'gateway', 'content-length': '5', 'x-a': '1, 2, ' })
    expect([chunked, contentLength]).toEqual([false, 5])
  })

  it.each(['gateway', 'gateway:8787', '127.0.0.1:80', '[::1]', '[::1]:8787', 'a_b.example', 'a%41', 'gateway:'])(
    'may name the host %j',
    (host) => {
      expect(copy(['host', host]).fault).toBeNull()
    },
  )

  it('keeps no name out of its prototype', () => {
    const { headers } = copy(HOST, ['__proto__', 'x'], ['constructor', 'y'])
    expect(headers['__proto__']).toBe('x')
    expect(headers['constructor']).toBe('y')
    expect(headers['toString']).toBeUndefined()
  })

  it('is chunked in any case of the word', () => {
    for (const value of ['chunked', 'Chunked', 'CHUNKED']) {
      expect(copy(HOST, ['transfer-encoding', value])).toMatchObject({
        fault: null,
        chunked: true,
        contentLength: null,
      })
    }
  })

  it('may hold a tab and bytes beyond ASCII in a value', () => {
    expect(copy(HOST, ['x-a', 'a\tb\xe9']).fault).toBeNull()
  })
})

describe('a head that two parsers may read differently', () => {
  it.each<[string, Field[]]>([
    ['no Host', []],
    ['an empty Host', [['host', '']]],
    ['a Host that is a port alone', [['host', ':80']]],
    ['a second Host', [HOST, HOST]],
    ['a Host that is a list', [['host', 'a, b']]],
    ['a Host with a space', [['host', 'a b']]],
    ['a Host with a slash', [['host', 'a/']]],
    ['a Host with a user', [['host', 'u@a']]],
    ['a Host with a bracket', [['host', '[::1']]],
    ['a second Content-Length', [HOST, LENGTH, LENGTH]],
    ['a second Transfer-Encoding', [HOST, CHUNKED, CHUNKED]],
    ['both lengths', [HOST, LENGTH, CHUNKED]],
    ['both lengths the other way', [HOST, CHUNKED, LENGTH]],
    ['an empty Transfer-Encoding', [HOST, ['transfer-encoding', '']]],
    ['another coding', [HOST, ['transfer-encoding', 'gzip, chunked']]],
    ['an empty name', [HOST, ['', 'x']]],
    ['a name with a space', [HOST, ['content-length ', '5']]],
  ])('is refused for %s', (_name, fields) => {
    expect(copy(...fields).fault).not.toBeNull()
  })

  it('is refused for every Content-Length that is not digits alone', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ maxLength: 20 }), fc.stringMatching(/^[-+ 0-9a-fxe.,_;]{0,18}$/)), (value) => {
        const { fault, contentLength } = copy(HOST, ['content-length', value])
        if (/^[0-9]{1,15}$/.test(value)) expect([fault, contentLength]).toEqual([null, Number(value)])
        else expect(fault).not.toBeNull()
      }),
      { seed: 4_102 },
    )
  })

  it('is refused for every control byte in a value, at every place', () => {
    for (let code = 0; code < 0x20; code++) {
      if (code === 9) continue
      for (const value of ['?b', 'a?', 'a?b', '?']) {
        expect(copy(HOST, ['x', value.replace('?', String.fromCharCode(code))]).fault, `byte ${code}`).not.toBeNull()
      }
    }
    expect(copy(HOST, ['x', 'a\x7f']).fault).not.toBeNull()
  })

  it('is refused for every character of a name that is no token', () => {
    for (let code = 0; code < 256; code++) {
      const character = String.fromCharCode(code).toLowerCase()
      const isToken = /[!#$%&'*+\-.^_`|~0-9a-z]/.test(character)
      expect(copy(HOST, [`x${character}y`, '1']).fault === null, `byte ${code}`).toBe(isToken)
    }
  })
})

it('takes a method for one when it is a token', () => {
  for (const method of ['GET', 'POST', 'BREW', 'get', "!#$%&'*"]) expect(isMethod(method)).toBe(true)
  for (const method of ['', 'G T', 'G(T', 'GÉT', 'G\0T', 'G:T']) expect(isMethod(method)).toBe(false)
})

it('takes a path or a query for one when it is ASCII without a fragment', () => {
  for (const text of ['', '/v1/models/a%C3%A9', "a=b&c=~!$'()*+,;:@/?"]) expect(isTarget(text)).toBe(true)
  for (const text of ['/a#b', '/é', '/\ufffd', '/\x80', '/a b', '/\x7f']) expect(isTarget(text)).toBe(false)
})

it('finds close among the connection options, and only there', () => {
  for (const value of ['close', 'Close', 'keep-alive, close', 'close , TE', ' close'])
    expect(wantsClose(value)).toBe(true)
  for (const value of [undefined, '', 'keep-alive', 'not-close', 'closed', 'x-close-y'])
    expect(wantsClose(value)).toBe(false)
})
