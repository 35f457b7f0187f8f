import { afterAll, beforeAll, it } from 'vitest'
import { SlowReaders } from '../../support/slow-readers.ts'

let readers: SlowReaders

beforeAll(async () => {
  readers = await SlowReaders.start({ streams: 1_000, lanes: 100, events: 1_500 })
})

afterAll(() => readers.stop())

it('gives 1 000 slow readers every byte, and well-formed chunks', { timeout: 600_000 }, async () => {
  await readers.expectEveryByte()
})

it('records them as whole', { timeout: 60_000 }, async () => {
  await readers.expectRows()
})

it('waits for readers that have stopped, wherever the answer had got to', { timeout: 180_000 }, async () => {
  // Around what the kernel takes: with some of them the answer's end waits in the gateway, with others all of its middle.
  const streams = Array.from({ length: 48 }, (_, n) => 2_500_000 + n * 100_000)
  await readers.expectPatience({ streams, whole: [3_000_000, 6_000_000, 12_000_000] })
})
