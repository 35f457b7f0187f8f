import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { spawnGateway, startGateway } from '../support/gateway.ts'

const directory = mkdtempSync(join(tmpdir(), 'sluice-left-behind-'))

afterAll(() => {
  rmSync(directory, { recursive: true, force: true })
})

it('leaves no process when the supervisor is killed, also while an answer is under way', async () => {
  const gateway = await startGateway({ fronts: 2 })
  const pids = childrenOf(gateway.pid)
  expect(pids).toHaveLength(4)
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
    // Longer than any process may outlive its supervisor.
    body: JSON.stringify({
      model: 'sim-gpt',
      stream: true,
      messages: [{ role: 'user', content: 'hello [[sim {"tokens":10000,"eventsPerSecond":10}]]' }],
    }),
  })
  expect(answer.status).toBe(200)
  await gateway.end('SIGKILL')
  await allEnd(pids)
  await answer.body?.cancel().catch(() => undefined)
  rmSync(gateway.dataDir, { recursive: true, force: true })
})

it('leaves no process when the supervisor is killed while they start', async () => {
  const { child } = spawnGateway([], { PORT: '0', HOST: '127.0.0.1', SLUICE_DATA_DIR: join(directory, 'begun') })
  const pids = await eventually(
    () => {
      const found = childrenOf(child.pid ?? 0)
      expect(found.length).toBeGreaterThanOrEqual(3)
      return found
    },
    { everyMs: 5 },
  )
  child.kill('SIGKILL')
  await allEnd(pids)
})

async function allEnd(pids: readonly number[]): Promise<void> {
  await eventually(
    () => {
      expect(pids.filter((pid) => statOf(pid) !== null)).toEqual([])
    },
    { timeoutMs: 20_000 },
  )
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc').flatMap((entry) => {
    const pid = Number(entry)
    return Number.isInteger(pid) && statOf(pid)?.parent === parent ? [pid] : []
  })
}

/** Null when there is no such process, or only its exit code is left. */
function statOf(pid: number): { readonly parent: number } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return state === 'Z' || state === 'X' ? null : { parent: Number(parent) }
  } catch {
    return null
  }
}
