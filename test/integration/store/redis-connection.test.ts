import { afterEach, beforeEach, expect, it } from 'vitest'
import { RedisConnection } from '../../../src/control/store/redis-connection.ts'
import { redisScript } from '../../../src/control/store/redis-script.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeRedis } from '../../support/fake-redis.ts'

const CALL = { script: redisScript('return 1'), keys: ['k'], args: ['a'] }

let fake: FakeRedis
let connection: RedisConnection
const errors: Error[] = []

beforeEach(async () => {
  fake = await FakeRedis.start()
  connection = new RedisConnection({
    address: { kind: 'single', url: fake.url },
    channels: [],
    onMessage: () => undefined,
    onError: (error) => errors.push(error),
  })
})

afterEach(async () => {
  connection.close()
  await fake.stop()
})

/** The answer to two calls, once there is a connection. */
function answers(): Promise<readonly unknown[]> {
  return eventually(async () => {
    const both = await connection.run([CALL, CALL])
    expect(String(both[0])).not.toContain('no connection')
    return both
  })
}

it('gives what scripts return', async () => {
  fake.answer = ':7\r\n'
  expect(await answers()).toEqual([7, 7])
})

it.each(['MOVED 1 127.0.0.1:1', 'LOADING data', 'READONLY a replica', 'OOM command not allowed', 'NOSCRIPT none'])(
  'answers every call with the error when the server says -%s, and goes on when it stops to',
  async (message) => {
    fake.answer = `-${message}\r\n`
    for (const answer of await answers()) expect(answer).toMatchObject({ message })
    fake.answer = ':8\r\n'
    await eventually(async () => {
      expect(await connection.run([CALL])).toEqual([8])
    })
  },
)

it.each([
  { name: 'nothing', answer: null },
  { name: 'half a reply', answer: '$10\r\nhal' },
])('cuts a connection on which $name came in time, and makes another', async ({ answer }) => {
  fake.answer = answer
  for (const one of await answers()) expect(one).toMatchObject({ message: expect.stringContaining('100 ms') })
  expect(await connection.run([CALL])).toMatchObject([{ message: expect.stringContaining('no connection') }])
  fake.answer = ':9\r\n'
  await eventually(async () => {
    expect(await connection.run([CALL])).toEqual([9])
  })
  expect(fake.connections).toBeGreaterThan(1)
})
