import { writeFileSync, mkdtempSync, rmSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { RedisConnection } from '../../../src/control/store/redis-connection.ts'
import { redisScript } from '../../../src/control/store/redis-script.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/free-port.ts'
import { TestRedis } from '../../support/redis.ts'

it('finds the master that sentinels know', { timeout: 60_000 }, async () => {
  const master = await TestRedis.start()
  const directory = mkdtempSync(join(tmpdir(), 'sluice-sentinel-'))
  const file = join(directory, 'sentinel.conf')
  const port = await freePort()
  writeFileSync(
    file,
    `port ${port}\nbind 127.0.0.1\ndir ${directory}\nsentinel monitor limits 127.0.0.1 ${master.port} 1\n`,
  )
  const sentinel = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' })
  const ended = once(sentinel, 'exit')
  const credentials = { username: null, password: null, tls: false }
  const connection = new RedisConnection({
    address: {
      kind: 'sentinel',
      name: 'limits',
      hosts: [{ host: '127.0.0.1', port }],
      sentinelPassword: null,
      ...credentials,
    },
    channels: [],
    onMessage: () => undefined,
    onError: () => undefined,
  })
  try {
    await eventually(async () => {
      const call = { script: redisScript('return redis.call("INCR", KEYS[1])'), keys: ['k'], args: [] }
      expect(await connection.run([call])).toEqual([1])
    })
    expect(await master.command((redis) => redis.get('k'))).toBe('1')
  } finally {
    connection.close()
    sentinel.kill('SIGKILL')
    await ended
    await master.stop()
    rmSync(directory, { recursive: true, force: true })
  }
})
