import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { LimitsWorld } from '../../support/limits-world.ts'

let world: LimitsWorld

beforeAll(async () => {
  world = await LimitsWorld.start()
})

afterAll(() => world.stop())

it('admits what the limits say in a window of 60 seconds, to 200 clients of one key over four fronts', async () => {
  await world.expectOneWindow()
}, 120_000)

it('tells what is left over all fronts, to a hundred clients at once and to the one after them', async () => {
  const ask = async (): Promise<number> => {
    const answer = await fetch(`${world.gateway.url}/v1/models`, {
      headers: { authorization: `Bearer ${world.headerKey}`, connection: 'close' },
    })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-ratelimit-limit-requests')).toBe('1000')
    expect(Number(answer.headers.get('x-ratelimit-reset-requests'))).toBeGreaterThan(55)
    return Number(answer.headers.get('x-ratelimit-remaining-requests'))
  }
  const told = await Promise.all(Array.from({ length: 100 }, ask))
  for (const left of told) {
    expect(left).toBeGreaterThanOrEqual(900)
    expect(left).toBeLessThan(1_000)
  }
  let asked = 100
  await eventually(async () => {
    asked += 1
    expect(await ask()).toBe(1_000 - asked)
  })
})
