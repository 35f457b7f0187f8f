import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/shared/runtime/clock.ts'
import { DeadlineClock } from '../../src/shared/runtime/deadlines.ts'
import type { GatewayError } from '../../src/shared/core/errors.ts'
import type { UpstreamTimeouts } from '../../src/shared/core/snapshot.ts'
import type { UpstreamCall, UpstreamClient, UpstreamHeaders } from '../../src/front/upstream/upstream-client.ts'
import { eventually } from '../support/eventually.ts'
import fc from '../support/fast-check.ts'
import { RawUpstream } from '../support/raw-upstream.ts'

const TIMEOUTS: UpstreamTimeouts = { connectMs: 2_000, firstByteMs: 5_000, idleMs: 5_000, totalMs: 20_000 }
const COMMON = ['content-type', 'application/json', 'x-common', 'yes']
const MAX_CONNECTIONS = 4

/** What came of one call. */
class Heard {
  status = 0
  headers: UpstreamHeaders = {}
  readonly pieces: Buffer[] = []
  isOver = false
  error: GatewayError | null = null
  call: UpstreamCall | null = null
  onData: (() => void) | null = null

  get text(): string {
    return Buffer.concat(this.pieces).toString()
  }

  over(): Promise<this> {
    return eventually(
      () => {
        expect(this.isOver).toBe(true)
        return this
      },
      { timeoutMs: 10_000 },
    )
  }
}

/** Bytes of an answer, and what they mean. */
const ANSWERS: Readonly<Record<string, { bytes: string; status: number; text: string; closes?: boolean }>> = {
  'a length': { bytes: 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello', status: 200, text: 'hello' },
  'a length of zero': { bytes: 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', status: 200, text: '' },
  chunks: {
    bytes: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n',
    status: 200,
    text: 'hello',
  },
  'chunks with trailers': {
    bytes: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n0\r\nX-T: 1\r\n\r\n',
    status: 200,
    text: '0123456789',
  },
  'a body to the end of the connection': {
    bytes: 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhello',
    status: 200,
    text: 'hello',
    closes: true,
  },
  'no content': { bytes: 'HTTP/1.1 204 No Content\r\n\r\n', status: 204, text: '' },
  'an interim response first': {
    bytes: 'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
    status: 200,
    text: 'ok',
  },
  'a failure': { bytes: 'HTTP/1.1 529 \r\nContent-Length: 4\r\n\r\nbusy', status: 529, text: 'busy' },
}

/** Bytes that are no answer. */
const BROKEN: Readonly<Record<string, string>> = {
  garbage: '\x00\x01\x02 this is not HTTP\r\n\r\n',
  'another protocol': 'SSH-2.0-OpenSSH_9.2\r\n',
  'a status line without a status': 'HTTP/1.1 OK\r\n\r\n',
  'a negative length': 'HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello',
  'two lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello',
  'a header name with a blank': 'HTTP/1.1 200 OK\r\nBad Name: x\r\nContent-Length: 0\r\n\r\n',
}

/** Both clients in turn: one behaviour whatever carries the bytes. */
export function upstreamClientContract(
  create: (options: { deadlines: DeadlineClock; maxConnections: number }) => UpstreamClient,
): void {
  let deadlines: DeadlineClock
  let client: UpstreamClient
  let upstream: RawUpstream | null = null

  const serve = async (answer: (socket: Socket, nth: number) => void): Promise<RawUpstream> => {
    upstream = await RawUpstream.start(answer)
    return upstream
  }
  const send = (
    more: { origin?: string; body?: string; timeouts?: Partial<UpstreamTimeouts>; once?: boolean; sink?: boolean } = {},
  ): Heard => {
    const heard = new Heard()
    heard.call = client.send(
      {
        origin: more.origin ?? upstream?.origin ?? '',
        path: '/v1/chat/completions?a=b',
        method: 'POST',
        headers: ['user-agent', 'caf\u00e9/1'],
        common: COMMON,
        body: Buffer.from(more.body ?? '{"n":1}'),
        timeouts: { ...TIMEOUTS, ...more.timeouts },
        ...(more.once === undefined ? {} : { once: more.once }),
      },
      {
        onHead: (status, headers) => {
          heard.status = status
          heard.headers = headers
          if (more.sink !== true) return undefined
          return {
            take: (piece, from, to) => {
              heard.pieces.push(Buffer.from(piece.subarray(from, to)))
            },
          }
        },
        onData: (piece) => {
          expect(more.sink).not.toBe(true)
          heard.pieces.push(Buffer.from(piece))
          heard.onData?.()
        },
        onEnd: () => {
          expect(heard.isOver).toBe(false)
          heard.isOver = true
        },
        onError: (error) => {
          expect(heard.isOver).toBe(false)
          heard.isOver = true
          heard.error = error
        },
      },
    )
    return heard
  }

  /** An answer whose pieces come one by one; with each of them passes most of the time that it may be idle. */
  const playSlowly = async (pieces: readonly string[], onPiece: (call: UpstreamCall) => void): Promise<Heard> => {
    const idleMs = 1_000
    let nowMs = 1_000
    await client.close()
    deadlines.stop()
    deadlines = new DeadlineClock({ now: () => nowMs, monotonicUs: () => nowMs * 1_000 })
    client = create({ deadlines, maxConnections: MAX_CONNECTIONS })
    const sockets: Socket[] = []
    await serve((opened) => {
      sockets.push(opened)
      const length = pieces.join('').length
      opened.write(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`)
    })
    const heard = send({ timeouts: { idleMs } })
    await eventually(() => {
      expect(heard.status).toBe(200)
    })
    for (const [index, piece] of pieces.entries()) {
      sockets[0]?.write(piece)
      await eventually(() => {
        expect(heard.text).toBe(pieces.slice(0, index + 1).join(''))
      })
      if (heard.call !== null) onPiece(heard.call)
      nowMs += 0.6 * idleMs
      deadlines.tick()
      if (heard.error !== null) return heard
    }
    return heard.over()
  }

  beforeEach(() => {
    deadlines = new DeadlineClock(systemClock, 10)
    deadlines.start()
    client = create({ deadlines, maxConnections: MAX_CONNECTIONS })
  })
  afterEach(async () => {
    await client.close()
    deadlines.stop()
    await upstream?.close()
    upstream = null
  })

  describe('what it sends', () => {
    it('is the request, byte for byte', async () => {
      const server = await serve((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'))
      await send({ body: 'a body' }).over()
      const [request] = server.requests
      expect(request?.head).toMatch(/^POST \/v1\/chat\/completions\?a=b HTTP\/1\.1\r\n/)
      expect(request?.head.toLowerCase()).toContain(`\r\nhost: ${server.origin.slice('http://'.length)}`)
      expect(request?.head).toContain('\r\nuser-agent: caf\u00e9/1\r\ncontent-type: application/json\r\nx-common: yes')
      expect(request?.head).toContain('\r\ncontent-length: 6')
      expect(request?.body).toBe('a body')
    })

    it('may be large', async () => {
      const server = await serve((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'))
      const body = 'x'.repeat(3_000_000)
      await send({ body }).over()
      expect(server.requests[0]?.body).toBe(body)
    })
  })

  describe('what it hears', () => {
    for (const [name, { bytes, status, text, closes }] of Object.entries(ANSWERS)) {
      it(`is ${name}, wherever the bytes are cut`, async () => {
        let cuts: readonly number[] = []
        await serve((socket) => {
          void writeCut(socket, Buffer.from(bytes, 'latin1'), cuts).then(() => {
            if (closes === true) socket.end()
          })
        })
        const everywhere = Array.from({ length: bytes.length - 1 }, (_, at) => at + 1)
        const check = async (places: readonly number[]): Promise<void> => {
          cuts = places
          for (const sink of [false, true]) {
            const heard = await send({ sink }).over()
            expect(heard.error).toBeNull()
            expect({ status: heard.status, text: heard.text }).toEqual({ status, text })
          }
        }
        await check([])
        await check(everywhere)
        await fc.assert(
          fc.asyncProperty(fc.uniqueArray(fc.integer({ min: 1, max: bytes.length - 1 }), { maxLength: 3 }), check),
          {
            numRuns: 15,
          },
        )
      })
    }

    it('is a field given twice as a list, and names in small letters', async () => {
      await serve((socket) =>
        socket.write('HTTP/1.1 200 OK\r\nX-One: 1\r\nX-TWO: a\r\nx-two: b\r\nContent-Length: 0\r\n\r\n'),
      )
      const { headers } = await send().over()
      expect(headers['x-one']).toBe('1')
      expect(headers['x-two']).toEqual(['a', 'b'])
    })

    for (const [name, bytes] of Object.entries(BROKEN)) {
      it(`is UPSTREAM_INVALID_ANSWER when it is ${name}`, async () => {
        await serve((socket) => socket.write(Buffer.from(bytes, 'latin1')))
        expect((await send().over()).error?.code).toBe('UPSTREAM_INVALID_ANSWER')
      })
    }

    it.each([
      ['a body shorter than its length', 'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello'],
      ['chunks without an end', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n'],
      ['a chunk that breaks off', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhello'],
      ['a chunk size that is none', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n'],
    ])('is UPSTREAM_TRUNCATED, after what was whole, when it is %s', async (_name, bytes) => {
      await serve((socket) => socket.end(bytes))
      const heard = await send().over()
      expect(heard.error?.code).toBe('UPSTREAM_TRUNCATED')
      expect(heard.text).toBe('hello')
    })

    it('is UPSTREAM_UNREACHABLE when nobody listens, or hangs up without a word', async () => {
      const server = await serve((socket) => socket.destroy())
      expect((await send().over()).error?.code).toBe('UPSTREAM_UNREACHABLE')
      expect(server.requests).toHaveLength(1)
      const { origin } = server
      await server.close()
      upstream = null
      expect((await send({ origin }).over()).error?.code).toBe('UPSTREAM_UNREACHABLE')
    })
  })

  describe('time', () => {
    it('runs out before the first byte, and between two steps', async () => {
      await serve((socket, nth) => {
        if (nth > 1) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello')
      })
      expect((await send({ timeouts: { firstByteMs: 60 } }).over()).error?.code).toBe('UPSTREAM_TIMEOUT')
      const heard = await send({ timeouts: { idleMs: 60 } }).over()
      expect(heard.error?.code).toBe('UPSTREAM_TIMEOUT')
      expect(heard.text).toBe('hello')
    })

    it.each([
      { kind: 'drips byte by byte', pieces: ['x', 'x', 'x', 'x', 'x'], code: 'UPSTREAM_TIMEOUT' },
      { kind: 'drips blanks and no line end', pieces: [' ', ' ', ' ', ' ', ' '], code: 'UPSTREAM_TIMEOUT' },
      { kind: 'drips blank lines within its body', pieces: ['{', '\n', '\n', '\n', '\n'], code: 'UPSTREAM_TIMEOUT' },
      { kind: 'brings a KiB at a time', pieces: ['x', 'y', 'z', 'x', 'y'].map((x) => x.repeat(1_024)), code: null },
      { kind: 'sends blank lines before it begins', pieces: ['\n', '\r\n', '\n', '\n', '{}'], code: null },
    ] as const)('between two steps of an answer that $kind: $code', async ({ pieces, code }) => {
      const heard = await playSlowly(pieces, () => undefined)
      expect(heard.error?.code ?? null).toBe(code)
      if (code === null) expect(heard.text).toBe(pieces.join(''))
    })

    it('begins anew with each event that the listener has found', async () => {
      const pieces = ['a', 'b', 'c', 'd', 'e']
      const heard = await playSlowly(pieces, (call) => {
        call.progressed()
      })
      expect([heard.error, heard.text]).toEqual([null, pieces.join('')])
    })

    it('runs out for the whole, however busy', async () => {
      await serve((socket) => {
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
        const timer = setInterval(() => socket.write('1\r\nx\r\n'), 10)
        socket.on('close', () => {
          clearInterval(timer)
        })
      })
      expect((await send({ timeouts: { totalMs: 150 } }).over()).error?.code).toBe('UPSTREAM_TIMEOUT')
    })

    it('stands still while paused, and so does the flow', async () => {
      const total = 40_000_000
      await serve((socket) => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${total}\r\n\r\n`)
        socket.write(Buffer.alloc(total, 0x61))
      })
      const heard = send({ timeouts: { idleMs: 600 } })
      heard.onData = () => {
        heard.call?.pause()
        heard.onData = null
      }
      const pausedMs = Date.now()
      await eventually(() => {
        expect(Date.now() - pausedMs).toBeGreaterThan(1_000)
      })
      expect(heard.isOver).toBe(false)
      expect(heard.text.length).toBeLessThan(total / 4)
      heard.call?.resume()
      await heard.over()
      expect(heard.error).toBeNull()
      expect(heard.text.length).toBe(total)
    })
  })

  describe('its connections', () => {
    it('are used again', async () => {
      const server = await serve((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'))
      for (let i = 0; i < 5; i++) await send().over()
      expect(server.sockets).toHaveLength(1)
    })

    it('are not used again when the server says so, or after a body without a length', async () => {
      const server = await serve((socket, nth) =>
        nth === 1
          ? socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
          : socket.end('HTTP/1.1 200 OK\r\n\r\nbody'),
      )
      for (let i = 0; i < 3; i++) await send().over()
      expect(server.sockets).toHaveLength(3)
    })

    it('are not used again when an answer is whole before its request has left', async () => {
      const sockets: Socket[] = []
      const early = createServer((socket) => {
        sockets.push(socket)
        socket.on('error', () => undefined)
        socket.once('data', () => {
          socket.pause()
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
        })
      })
      early.listen(0, '127.0.0.1')
      await once(early, 'listening')
      const origin = `http://127.0.0.1:${(early.address() as AddressInfo).port}`
      const heard = await send({ origin, body: 'x'.repeat(16_000_000) }).over()
      expect([heard.error, heard.text]).toEqual([null, 'ok'])
      expect((await send({ origin }).over()).text).toBe('ok')
      expect(sockets).toHaveLength(2)
      for (const socket of sockets) socket.destroy()
      early.close()
      await once(early, 'close')
    })

    it('are not trusted after bytes that nobody asked for', async () => {
      const server = await serve((socket) =>
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'),
      )
      for (let i = 0; i < 3; i++) {
        const heard = await send().over()
        expect(heard.error === null ? heard.text : 'refused').not.toBe('evil')
      }
      expect(server.sockets.length).toBeGreaterThan(1)
    })

    it('are bounded: who finds none is refused, and nothing waits', async () => {
      const held: Socket[] = []
      const server = await serve((socket) => held.push(socket))
      const heard = Array.from({ length: MAX_CONNECTIONS + 2 }, () => send())
      const refused = heard.splice(MAX_CONNECTIONS)
      for (const one of refused) expect((await one.over()).error?.code).toBe('GATEWAY_OVERLOADED')
      await eventually(() => {
        expect(held).toHaveLength(MAX_CONNECTIONS)
      })
      for (const socket of held.splice(0)) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
      for (const one of heard) expect((await one.over()).error).toBeNull()
      const again = send()
      await eventually(() => {
        expect(held).toHaveLength(1)
      })
      held[0]?.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
      expect((await again.over()).status).toBe(200)
      expect(server.sockets).toHaveLength(MAX_CONNECTIONS)
    })

    it('that are idle make room for one to another origin', async () => {
      const server = await serve((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'))
      const other = await RawUpstream.start((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'))
      await Promise.all(Array.from({ length: MAX_CONNECTIONS }, () => send().over()))
      expect((await send({ origin: other.origin }).over()).status).toBe(200)
      expect(server.sockets).toHaveLength(MAX_CONNECTIONS)
      await other.close()
    })

    it('that were closed while idle cost a second try, once, and only if nothing of the answer came', async () => {
      const server = await serve((socket, nth) => {
        if (nth === 2) socket.destroy()
        else if (nth === 5) socket.end('HTTP/1.1 2')
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
      })
      await send().over()
      const again = await send().over()
      expect(again.error).toBeNull()
      expect(server.requests).toHaveLength(3)
      await send().over()
      const broken = await send().over()
      expect(broken.error).not.toBeNull()
      expect(server.requests).toHaveLength(5)
    })

    it('do not carry a request that may be heard once a second time, and tell whether it was sent', async () => {
      const server = await serve((socket, nth) => {
        if (nth === 2) socket.destroy()
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
      })
      await send().over()
      const lost = await send({ once: true }).over()
      expect(lost.error?.code).toBe('UPSTREAM_TRUNCATED')
      expect(server.requests.map(({ connection }) => connection)).toEqual([0, 1])
      const unsent = await send({ once: true, origin: 'http://127.0.0.1:1' }).over()
      expect(unsent.error?.code).toBe('UPSTREAM_UNREACHABLE')
    })

    it('that are idle are better than waiting, also for a request that wants one of its own', async () => {
      const held: Socket[] = []
      const server = await serve((socket) => held.push(socket))
      const first = Array.from({ length: MAX_CONNECTIONS }, () => send())
      await eventually(() => {
        expect(held).toHaveLength(MAX_CONNECTIONS)
      })
      for (const socket of held.splice(0)) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
      for (const one of first) await one.over()
      const last = send({ once: true })
      await eventually(() => {
        expect(held).toHaveLength(1)
      })
      held[0]?.destroy()
      expect((await last.over()).error?.code).toBe('UPSTREAM_TRUNCATED')
      expect(server.requests).toHaveLength(MAX_CONNECTIONS + 1)
    })

    it('are closed when a call is aborted, and nothing more is heard', async () => {
      const server = await serve((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello'))
      const heard = send()
      await eventually(() => {
        expect(heard.text).toBe('hello')
      })
      heard.call?.abort()
      await eventually(() => {
        expect(server.openConnections).toBe(0)
      })
      expect(heard.isOver).toBe(false)
    })

    it('leave nothing behind after 2 000 aborts', async () => {
      const server = await serve(() => undefined)
      const descriptors = (): number => readdirSync('/proc/self/fd').length
      const before = descriptors()
      for (let round = 0; round < 500; round++) {
        const calls = Array.from({ length: 4 }, () => send())
        if (round % 2 === 0) {
          const expected = server.requests.length + 4
          await eventually(() => {
            expect(server.requests.length).toBeGreaterThanOrEqual(expected)
          })
        }
        for (const { call } of calls) call?.abort()
      }
      await eventually(() => {
        expect(server.openConnections).toBe(0)
        expect(descriptors()).toBeLessThanOrEqual(before + 5)
      })
    }, 60_000)
  })
}

async function writeCut(socket: Socket, bytes: Buffer, cuts: readonly number[]): Promise<void> {
  const places = [0, ...[...cuts].sort((a, b) => a - b), bytes.length]
  for (let i = 0; i + 1 < places.length; i++) {
    socket.write(bytes.subarray(places[i], places[i + 1]))
    await new Promise((resolve) => setImmediate(resolve))
  }
}
