import { expect, it } from 'vitest'
import { InFlightLimit } from '../../../src/gateway/in-flight.ts'

function limitOf(max: number): { limit: InFlightLimit; pass: (seconds: number) => void } {
  let us = 0
  const limit = new InFlightLimit(max, { now: () => us / 1_000, monotonicUs: () => us })
  return {
    limit,
    pass: (seconds) => {
      us += seconds * 1_000_000
    },
  }
}

it('runs as many at a time as it may, and again as many as have ended', async () => {
  const { limit } = limitOf(2)
  const ends: Array<() => void> = []
  const work = (): Promise<void> => new Promise((resolve) => ends.push(resolve))
  const first = limit.run(work)
  expect(limit.run(work)).not.toBeNull()
  expect(limit.run(work)).toBeNull()
  expect([ends.length, limit.count]).toEqual([2, 2])
  ends[0]?.()
  await first
  expect(limit.run(work)).not.toBeNull()
  expect(limit.run(work)).toBeNull()
})

it('gives the place of work that failed to the next', async () => {
  const { limit } = limitOf(1)
  await expect(limit.run(() => Promise.reject(new Error('x')))).rejects.toThrow('x')
  expect(limit.count).toBe(0)
})

it('asks for as long a wait as requests take, between a second and a minute', async () => {
  const { limit, pass } = limitOf(1)
  expect(limit.retryAfterSeconds).toBe(1)
  const last = async (seconds: number): Promise<void> => {
    for (let i = 0; i < 200; i++) {
      await limit.run(async () => {
        pass(seconds)
      })
    }
  }
  await last(0.01)
  expect(limit.retryAfterSeconds).toBe(1)
  await last(8)
  expect(limit.retryAfterSeconds).toBe(8)
  await last(900)
  expect(limit.retryAfterSeconds).toBe(60)
})
