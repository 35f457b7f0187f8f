import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isAlive, lockDataDirectory, processIdentity } from '../../../src/shared/runtime/data-directory.ts'

let directory: string

beforeEach(() => {
  directory = join(mkdtempSync(join(tmpdir(), 'sluice-lock-')), 'data')
})

afterEach(() => rm(join(directory, '..'), { recursive: true, force: true }))

describe('the lock of the data directory', () => {
  it('makes the directory for its owner alone, and goes when released', async () => {
    const lock = await lockDataDirectory(directory)
    expect(statSync(directory).mode & 0o777).toBe(0o700)
    expect(readdirSync(directory)).toEqual(['lock-1'])
    await lock.release()
    expect(readdirSync(directory)).toEqual([])
  })

  it('is refused in one line that names the process holding it', async () => {
    const lock = await lockDataDirectory(directory)
    await expect(lockDataDirectory(directory)).rejects.toThrow(`in use by process ${process.pid}`)
    await lock.release()
  })

  it('is taken over from a process that has ended', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    const holder = processIdentity(child.pid)
    await lockDataDirectory(directory).then((lock) => lock.release())
    writeFileSync(join(directory, 'lock-1'), JSON.stringify(holder))
    await expect(lockDataDirectory(directory)).rejects.toThrow(`in use by process ${child.pid}`)
    child.kill('SIGKILL')
    await once(child, 'exit')

    const lock = await lockDataDirectory(directory)
    expect(JSON.parse(readFileSync(join(directory, 'lock-2'), 'utf8'))).toEqual(processIdentity())
    await lock.release()
  })

  it('is taken over when the number of its process belongs to another now, or the lock is unreadable', async () => {
    await lockDataDirectory(directory).then((lock) => lock.release())
    for (const content of [JSON.stringify({ ...processIdentity(), startTicks: '1' }), '', '{"pid":']) {
      writeFileSync(join(directory, 'lock-1'), content)
      await (await lockDataDirectory(directory)).release()
    }
  })

  it('goes to one of many who want it at the same time, also from a dead process', async () => {
    for (let round = 0; round < 20; round++) {
      await lockDataDirectory(directory).then((lock) => lock.release())
      writeFileSync(join(directory, 'lock-1'), JSON.stringify({ ...processIdentity(), startTicks: '1' }))
      const results = await Promise.allSettled(Array.from({ length: 8 }, () => lockDataDirectory(directory)))
      const winners = results.filter(({ status }) => status === 'fulfilled')
      expect(winners).toHaveLength(1)
      for (const result of results) if (result.status === 'fulfilled') await result.value.release()
      expect(readdirSync(directory)).toEqual([])
    }
  })
})

describe('a process identity', () => {
  it('is alive for this process, and not after another boot or for another start', () => {
    const identity = processIdentity()
    expect(isAlive(identity)).toBe(true)
    expect(isAlive({ ...identity, startTicks: '1' })).toBe(false)
    expect(isAlive({ ...identity, bootId: 'another' })).toBe(false)
  })

  it('is dead for a zombie', async () => {
    const shell = spawn('sh', ['-c', 'sleep 0 & echo $!; exec sleep 30'], { stdio: ['ignore', 'pipe', 'ignore'] })
    const [line] = (await once(shell.stdout, 'data')) as [Buffer]
    const zombie = processIdentity(Number(line.toString()))
    await expect.poll(() => isAlive(zombie)).toBe(false)
    shell.kill('SIGKILL')
    await once(shell, 'exit')
  })
})
