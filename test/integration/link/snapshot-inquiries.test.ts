import { expect, it, onTestFinished } from 'vitest'
import { LinkPair } from './link-pair.ts'

/** A pair whose control process looks into the store when it is told to. */
async function pairWithLooks(): Promise<{ pair: LinkPair; looks: Array<(isDone: boolean) => void> }> {
  const pair = new LinkPair()
  onTestFinished(() => pair.close())
  const looks: Array<(isDone: boolean) => void> = []
  pair.refreshSnapshot = () =>
    new Promise((resolve, reject) => {
      looks.push((isDone) => {
        if (isDone) resolve()
        else reject(new Error('no store'))
      })
    })
  await pair.start()
  return { pair, looks }
}

it('asks once for all who come while it asks, and again for those who came after it had begun', async () => {
  const { pair, looks } = await pairWithLooks()
  const first = pair.front.inquiries.isCurrent()
  const later = Array.from({ length: 50 }, () => pair.front.inquiries.isCurrent())
  await pair.quick()
  expect(looks).toHaveLength(1)
  looks[0]?.(true)
  expect(await first).toBe(true)
  pair.pass(50)
  await pair.quick()
  expect(looks).toHaveLength(2)
  looks[1]?.(true)
  expect(await Promise.all(later)).toEqual(later.map(() => true))
})

it('says that nobody can tell when the store cannot be read, when it takes too long, and without a control process', async () => {
  const { pair, looks } = await pairWithLooks()
  const unreadable = pair.front.inquiries.isCurrent()
  await pair.quick()
  looks[0]?.(false)
  expect(await unreadable).toBe(false)

  pair.pass(50)
  const slow = pair.front.inquiries.isCurrent()
  pair.pass(1_500)
  expect(await slow).toBe(false)

  pair.pass(50)
  const cut = pair.front.inquiries.isCurrent()
  pair.control.close()
  expect(await cut).toBe(false)
  pair.pass(50)
  expect(await pair.front.inquiries.isCurrent()).toBe(false)
})

it('lets no more than a thousand wait', async () => {
  const { pair } = await pairWithLooks()
  const first = pair.front.inquiries.isCurrent()
  const waiting = Array.from({ length: 1_000 }, () => pair.front.inquiries.isCurrent())
  expect(await pair.front.inquiries.isCurrent()).toBe(false)
  pair.control.close()
  expect(await first).toBe(false)
  pair.pass(50)
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([false]))
})
