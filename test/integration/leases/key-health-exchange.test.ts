import { afterAll, beforeAll, expect, it } from 'vitest'
import type { KeyHealthEvent } from '../../../src/shared/core/key-health-event.ts'
import { KeyHealthExchange } from '../../../src/control/leases/key-health-exchange.ts'
import { RedisConnection } from '../../../src/control/store/redis-connection.ts'
import { eventually } from '../../support/eventually.ts'
import { TestRedis } from '../../support/redis.ts'

let redis: TestRedis
let connection: RedisConnection
const machines: Array<{ readonly exchange: KeyHealthExchange; readonly heard: KeyHealthEvent[] }> = []

beforeAll(async () => {
  redis = await TestRedis.start()
  connection = new RedisConnection({
    address: { kind: 'single', url: redis.url },
    channels: ['test:key-news'],
    onMessage: (_, message) => {
      machines[0]?.exchange.heard(message)
    },
    onError: () => undefined,
  })
  for (const node of ['listens', 'looks', 'tells']) {
    const heard: KeyHealthEvent[] = []
    const onNews = (news: KeyHealthEvent): unknown => heard.push(news)
    machines.push({ heard, exchange: new KeyHealthExchange({ runner: connection, prefix: 'test', node, onNews }) })
  }
  await eventually(() => connection.ping())
})

afterAll(async () => {
  connection.close()
  await redis.stop()
})

it('tells other machines what is known of an upstream key, by message or when they look', async () => {
  const [listens, looks, tells] = machines
  const news: KeyHealthEvent = { keyId: 'k', kind: 'cooling', untilMs: Date.now() + 60_000, reason: 'rate limited' }
  const past: KeyHealthEvent = { ...news, keyId: 'old', untilMs: Date.now() - 1 }
  tells?.exchange.tell(news)
  tells?.exchange.tell(past)
  await eventually(async () => {
    await tells?.exchange.tick(Date.now())
    await looks?.exchange.tick(Date.now() + 10_000)
    expect(looks?.heard).toEqual([news])
  })
  await eventually(() => {
    expect(listens?.heard).toEqual([news])
  })
  expect(tells?.heard).toEqual([])
})

it('keeps of a key that works again neither that its calls failed nor that its credential was refused', async () => {
  const [, , tells] = machines
  const heard: KeyHealthEvent[] = []
  const late = new KeyHealthExchange({
    runner: connection,
    prefix: 'test',
    node: 'late',
    onNews: (one) => heard.push(one),
  })
  const untilMs = Date.now() + 60_000
  const told = async (kind: KeyHealthEvent['kind'], keyId: string): Promise<void> => {
    tells?.exchange.tell({ keyId, kind, untilMs, reason: 'test' })
    await eventually(() => tells?.exchange.tick(Date.now()))
  }
  for (const kind of ['disabled', 'breaker-open', 'breaker-closed'] as const) await told(kind, 'works-again')
  await told('disabled', 'refused')
  await late.tick(Date.now() + 10_000)
  expect(heard.filter(({ keyId }) => keyId !== 'k')).toMatchObject([{ keyId: 'refused', kind: 'disabled' }])
})
