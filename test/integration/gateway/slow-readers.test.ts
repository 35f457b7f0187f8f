import { afterAll, beforeAll, describe, it } from 'vitest'
import { SlowReaders } from '../../support/slow-readers.ts'

let readers: SlowReaders

beforeAll(async () => {
  readers = await SlowReaders.start({ streams: 60, lanes: 30, events: 3_000 })
})

afterAll(() => readers.stop())

describe('slow readers', () => {
  it.concurrent('get every byte, in well-formed chunks', { timeout: 120_000 }, async () => {
    await readers.expectEveryByte()
  })

  it.concurrent('that stop are waited for longer than the server itself would', { timeout: 120_000 }, async () => {
    // Around what the kernel takes: with some of them the answer's end waits in the gateway, with others all of its middle.
    const streams = Array.from({ length: 8 }, (_, n) => 2_500_000 + n * 600_000)
    await readers.expectPatience({ streams, whole: [6_000_000] })
  })

  it.concurrent('that never read on are cut', { timeout: 120_000 }, async () => {
    await readers.expectCut()
  })

  it('are recorded as whole', { timeout: 60_000 }, async () => {
    await readers.expectRows()
  })
})
