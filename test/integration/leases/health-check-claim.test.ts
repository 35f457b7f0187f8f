import { afterAll, beforeAll, expect, it } from 'vitest'
import { HealthCheckClaim } from '../../../src/control/leases/health-check-claim.ts'
import { RedisConnection } from '../../../src/control/store/redis-connection.ts'
import { eventually } from '../../support/eventually.ts'
import { TestRedis } from '../../support/redis.ts'

let redis: TestRedis
let connection: RedisConnection

beforeAll(async () => {
  redis = await TestRedis.start()
  const address = { kind: 'single', url: redis.url } as const
  connection = new RedisConnection({ address, channels: [], onMessage: () => undefined, onError: () => undefined })
  await eventually(() => connection.ping())
})
afterAll(async () => {
  connection.close()
  await redis.stop()
})

function claimOf(node: string): { take: (upstreams: readonly string[]) => Promise<string[]>; pass: () => void } {
  let nowMs = 0
  const clock = { now: () => nowMs, monotonicUs: () => nowMs * 1000 }
  const claim = new HealthCheckClaim({ runner: connection, prefix: 'test', node, clock })
  return {
    take: async (upstreams) => [...(await claim.take(upstreams))],
    pass: () => {
      nowMs += 3_000
    },
  }
}

it('gives each upstream to one gateway, which keeps it', async () => {
  const [one, other] = [claimOf('one'), claimOf('other')]
  expect(await one.take(['u'])).toEqual(['u'])
  // An upstream that only the other one has is its own.
  expect(await other.take(['u', 'v'])).toEqual(['v'])
  for (const claim of [one, other]) claim.pass()
  expect(await one.take(['u', 'v'])).toEqual(['u'])
  expect(await other.take(['u', 'v'])).toEqual(['v'])
})

it('gives everything to each while Redis does not answer', async () => {
  const claim = claimOf('alone')
  connection.close()
  expect(await claim.take(['u', 'v'])).toEqual(['u', 'v'])
})
