import { expect, it } from 'vitest'
import { GatewayError } from '../../../src/shared/core/errors.ts'
import { serializeRequest } from '../../../src/front/upstream/http1/serialize-request.ts'
import fc from '../../support/fast-check.ts'

const timeouts = { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1 }

function serialized(headers: readonly string[], path = '/v1'): string {
  const request = { origin: 'http://host:1', path, method: 'POST', headers, body: null, timeouts } as const
  return Buffer.concat(serializeRequest(request)).toString('latin1')
}

it('sends a value beyond Latin-1 as the bytes it came in, never as a line end', () => {
  // U+010D and U+010A end in the bytes of CR and LF.
  const head = serialized(['openai-beta', 'a\u010d\u010ax-evil: 1'])
  expect(head.split('\r\n')).toEqual([
    'POST /v1 HTTP/1.1',
    'host: host:1',
    `openai-beta: ${Buffer.from('a\u010d\u010ax-evil: 1').toString('latin1')}`,
    'content-length: 0',
    '',
    '',
  ])
})

it('writes one line for each field, or refuses, whatever stands in it', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'binary' }),
      (path, name, value) => {
        let head: string
        try {
          head = serialized(['x-before', '1', name, value, 'x-after', '2'], `/${path}`)
        } catch (cause) {
          expect(cause).toBeInstanceOf(GatewayError)
          return
        }
        expect(head.split(/[\r\n]+/)).toHaveLength(7)
        expect(head).toMatch(/^POST \/\S* HTTP\/1\.1\r\n/)
        expect(head).not.toContain('\0')
      },
    ),
    { numRuns: 2_000 },
  )
})
