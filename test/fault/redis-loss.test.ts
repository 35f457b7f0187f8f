import { afterAll, afterEach, beforeAll, describe, inject, it } from 'vitest'
import { dose, firstCases } from '../support/dose.ts'
import type { Outage } from '../support/redis-outage.ts'
import { OutageWorld } from '../support/redis-outage.ts'
import { TestRedis } from '../support/redis.ts'

/** Ten seconds are what is promised. */
const OUTAGE_MS = dose('SLUICE_TEST_REDIS_OUTAGE_S', { short: 3, long: 10 }) * 1_000

describe.runIf(inject('database') === 'postgres')('Redis is', () => {
  let redis: TestRedis
  let world: OutageWorld
  const outages: readonly Outage[] = [
    { name: 'paused', begin: () => redis.kill('SIGSTOP'), end: () => redis.kill('SIGCONT') },
    { name: 'killed and restarted empty', begin: () => redis.kill('SIGKILL'), end: () => redis.restart() },
  ]

  beforeAll(async () => {
    redis = await TestRedis.start()
    world = await OutageWorld.start(
      { url: redis.url },
      outages.map(({ name }) => name),
    )
  })

  afterEach(() => redis.kill('SIGCONT'))

  afterAll(async () => {
    await world.stop()
    await redis.stop()
  })

  it.each(firstCases(1, outages))(
    '$name for seconds: no request fails, and limits hold',
    { timeout: 240_000 },
    async (outage) => {
      await world.rideOut(outage, OUTAGE_MS)
    },
  )
})
