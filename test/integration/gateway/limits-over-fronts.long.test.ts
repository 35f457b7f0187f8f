import { afterAll, beforeAll, it } from 'vitest'
import { LimitsWorld } from '../../support/limits-world.ts'

let world: LimitsWorld

beforeAll(async () => {
  world = await LimitsWorld.start()
})

afterAll(() => world.stop())

it('admits what the limits say in every window of two, to 200 clients of one key over four fronts', async () => {
  await world.expectTwoWindows()
}, 240_000)
