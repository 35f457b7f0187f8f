import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'

const STARTED = /^started (\d+) (\S+)$/m

/** Programs that start what tests start, say its process id and a path of its own, and wait. */
const RUNNERS: Readonly<Record<string, string>> = {
  Postgres: `
    const { startPostgres } = await import('./test/support/postgres.ts')
    const postgres = await startPostgres()
    console.log('started', postgres.pid(), postgres.socketDirectory)`,
  Redis: `
    const { TestRedis } = await import('./test/support/redis.ts')
    const redis = await TestRedis.start()
    const [pid, directory] = await redis.command(async (one) => {
      const info = await one.info('server')
      return [/process_id:(\\d+)/.exec(info)[1], (await one.config('GET', 'dir'))[1]]
    })
    console.log('started', pid, directory)`,
}

describe.each(Object.keys(RUNNERS))('%s of a run', (name) => {
  it('ends, and its directory is deleted, when the run is killed', async () => {
    const { runner, pid, directory } = await start(name)
    runner.kill('SIGKILL')
    await eventually(() => {
      expect(isRunning(pid)).toBe(false)
      expect(existsSync(directory)).toBe(false)
    })
  })

  it('ends when the run ends without stopping it', async () => {
    const { runner, pid } = await start(name)
    runner.stdin.end()
    await once(runner, 'exit')
    await eventually(() => {
      expect(isRunning(pid)).toBe(false)
    })
  })
})

async function start(name: string) {
  // TypeScript as vitest runs it: by Vite.
  const vite = pathToFileURL(resolve('node_modules/vite/dist/node/index.js')).href
  const script = `
    import { runnerImport } from ${JSON.stringify(vite)}
    ${(RUNNERS[name] ?? '').replaceAll(/await import\('([^']+)'\)/g, "(await runnerImport('$1', { logLevel: 'error' })).module")}
    process.stdin.on('end', () => process.exit()).resume()`
  const runner = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  let said = ''
  runner.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const [, pid = '', directory = ''] = await eventually(
    () => {
      const found = STARTED.exec(said)
      if (found === null) throw new Error(`the ${name} of the run has not started: ${said}`)
      return found
    },
    { timeoutMs: 25_000 },
  )
  return { runner, pid: Number(pid), directory }
}

function isRunning(pid: number): boolean {
  try {
    // A zombie has ended: it waits for its parent to notice.
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
