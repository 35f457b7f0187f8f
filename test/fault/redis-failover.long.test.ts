import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { OutageWorld } from '../support/redis-outage.ts'
import { TestSentinels } from '../support/redis-sentinels.ts'

/** Ten seconds are what is promised. */
const OUTAGE_MS = 10_000

describe.runIf(inject('database') === 'postgres')('the master that sentinels know is', () => {
  let sentinels: TestSentinels
  let world: OutageWorld

  beforeAll(async () => {
    sentinels = await TestSentinels.start()
    world = await OutageWorld.start(sentinels.settings, ['killed'])
  })

  afterAll(async () => {
    await world.stop()
    await sentinels.stop()
  })

  it('killed: its replica takes over, no request fails, and limits hold', { timeout: 240_000 }, async () => {
    await world.rideOut(
      {
        name: 'killed',
        begin: () => sentinels.master.kill('SIGKILL'),
        end: () => sentinels.failedOver(),
      },
      OUTAGE_MS,
    )
    const connections = await sentinels.replica.command((redis) => redis.client('LIST'))
    expect(String(connections)).toContain('cmd=evalsha')
  })
})
