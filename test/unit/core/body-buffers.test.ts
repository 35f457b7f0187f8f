import { expect, it } from 'vitest'
import { BodyMemory, joinBody, unpooled, transfersOf } from '../../../src/shared/runtime/body-buffers.ts'
import fc from '../../support/fast-check.ts'

const pieces = fc.array(fc.uint8Array({ maxLength: 40_000 }), { maxLength: 6 })

it('joins pieces to what they hold and not a byte more, small and large', () => {
  fc.assert(
    fc.property(pieces, (given) => {
      expect(joinBody(given).equals(Buffer.concat(given))).toBe(true)
    }),
    { numRuns: 50 },
  )
})

it('hands bytes to another thread with no memory of others', () => {
  for (const size of [0, 10, 65_535, 65_536, 300_000]) {
    const neighbours = Buffer.alloc(size + 200, 7)
    const carried = unpooled(neighbours.subarray(100, 100 + size))
    expect(carried.buffer.byteLength).toBe(size)
    expect(transfersOf(carried)).toEqual(carried.buffer instanceof SharedArrayBuffer ? [] : [carried.buffer])
    expect(unpooled(carried).length).toBe(size)
  }
})

const MIB = 1024 * 1024
const SHARED = 'SharedArrayBuffer'
const COUNTED = 'ArrayBuffer'

/** What kinds of memory a `total` of bodies are given, one after the other. */
function kindsOf(memory: BodyMemory, total: number): Set<string> {
  return new Set(Array.from({ length: total / (2 * MIB) }, () => memory.allocate(2 * MIB).buffer.constructor.name))
}

it('gives shared memory for as long as the process stays as large as it was', () => {
  let resident = 500 * MIB
  const memory = new BodyMemory(() => (resident += 60 * MIB) && Math.min(resident, 740 * MIB))
  expect(kindsOf(memory, 2_048 * MIB)).toEqual(new Set([SHARED]))
})

it('lets a process become as large as it must be at first', () => {
  let resident = 80 * MIB
  const memory = new BodyMemory(() => resident)
  expect(kindsOf(memory, 254 * MIB)).toEqual(new Set([SHARED]))
  resident = 500 * MIB
  expect(kindsOf(memory, 1_024 * MIB)).toEqual(new Set([SHARED]))
})

it('gives counted memory when the process has grown, until V8 must have collected, and finds itself in what is left', () => {
  let resident = 500 * MIB
  const memory = new BodyMemory(() => resident)
  expect(kindsOf(memory, 512 * MIB)).toEqual(new Set([SHARED]))
  resident = 800 * MIB
  expect(kindsOf(memory, 128 * MIB)).toEqual(new Set([COUNTED]))
  // As it was, or larger because of something else: either way it can go on.
  expect(kindsOf(memory, 1_024 * MIB)).toEqual(new Set([SHARED]))
  resident = 1_100 * MIB
  expect(kindsOf(memory, 256 * MIB)).toContain(COUNTED)
})

it('leaves small bodies where they are cheapest', () => {
  const memory = new BodyMemory(() => 0)
  expect(memory.allocate(65_535).buffer.constructor.name).toBe(COUNTED)
})

it('gives small bodies memory that no other body writes to, in slabs that no message takes away', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 3_000 }), { maxLength: 40 }), (sizes) => {
      const memory = new BodyMemory(() => 0)
      const bodies = sizes.map((size, at) => memory.allocate(size).fill(at))
      for (const [at, body] of bodies.entries()) {
        expect(body.length).toBe(sizes[at])
        expect(body.every((byte) => byte === at)).toBe(true)
      }
    }),
    { numRuns: 50 },
  )
  const { buffer } = new BodyMemory(() => 0).allocate(100)
  // Node 20 leaves it where it is, later versions throw.
  const { port1, port2 } = new MessageChannel()
  try {
    port1.postMessage(null, [buffer as ArrayBuffer])
  } catch {
    expect(Number(process.versions.node.split('.')[0])).toBeGreaterThan(20)
  }
  expect(buffer.byteLength).toBeGreaterThan(100)
  port1.close()
  port2.close()
})
