import { expect, it } from 'vitest'
import { packBody } from '../../../src/control/capture/pack-body.ts'
import { newDataKey, openBody } from '../../../src/control/capture/sealed-body.ts'

async function packed(bytes: Buffer, maxBytes: number): Promise<{ text: string | null; isCut: boolean }> {
  const dataKey = newDataKey()
  const { digest, sealed, isCut } = packBody({ bytes, isCut: false, patterns: [], dataKey, maxBytes })
  return { text: await openBody(dataKey, { digest: Buffer.from(digest), sealed: Buffer.from(sealed) }), isCut }
}

it('keeps no half of a character where it cuts', async () => {
  const smile = '\u{1F600}'
  for (const maxBytes of [5, 6, 7, 8]) {
    expect(await packed(Buffer.from(`abcd${smile}`), maxBytes)).toEqual({
      text: maxBytes < 8 ? 'abcd' : `abcd${smile}`,
      isCut: maxBytes < 8,
    })
  }
})

// A pattern that looks for the end at each of these characters takes their number squared, which is longer than a test may take.
it('cuts a body of bytes that are no text, in time proportional to it', async () => {
  const count = 300_000
  const bytes = Buffer.concat([Buffer.alloc(count, 0xff), Buffer.alloc(10_000, 'a')])
  expect(await packed(bytes, 3 * count + 1_000)).toEqual({
    text: '\uFFFD'.repeat(count) + 'a'.repeat(1_000),
    isCut: true,
  })
})
