import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { mkdtempSync, rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cannotRunClients, installFromPypi, runClient } from '../../support/installed-client.ts'
import { McpWorld } from '../../support/mcp-world.ts'

// The official SDK for Python, as PyPI has it, against both transports.

const PACKAGES = ['mcp==1.30.0']
const SCRIPT = fileURLToPath(new URL('../../support/python/mcp_tools.py', import.meta.url))

let world: McpWorld

beforeAll(async () => {
  world = await McpWorld.start()
}, 120_000)

afterAll(async () => {
  await world.gateway.stop()
})

interface Seen {
  readonly tools: readonly string[]
  readonly progress: readonly number[]
  readonly resources: readonly string[]
}

describe('the SDK for Python', () => {
  it(
    'connects, lists, calls, gets progress and gives up over both transports',
    { timeout: 600_000 },
    async (context) => {
      const missing = await cannotRunClients()
      const installed = await installFromPypi(PACKAGES)
      const reason = missing ?? ('missing' in installed ? installed.missing : null)
      if (reason !== null || 'missing' in installed) return context.skip(reason ?? 'not installed')
      const user = await world.user()
      await world.key(user)
      const home = mkdtempSync(join(tmpdir(), 'sluice-python-'))
      const env = { SLUICE_URL: world.gateway.url, SLUICE_TOKEN: user.token }
      const python = join(installed.directory, 'bin', 'python')
      const { code, output } = await runClient([python, SCRIPT], { cwd: home, home, env, port: world.gateway.port })
      rmSync(home, { recursive: true, force: true })
      expect([code, code === 0 ? '' : output]).toEqual([0, ''])
      const seen = JSON.parse(output.trim().split('\n').at(-1) ?? '') as Record<'streamable' | 'sse', Seen>
      for (const one of [seen.streamable, seen.sse]) {
        expect(one).toMatchObject({ server: 'sluice', keys: 1, answer: 'stop', failed: true, given_up: true })
        expect(one.tools).toContain('chat_completion')
        expect(one.resources).toContain('sluice://models')
        expect(one.progress.length).toBeGreaterThan(1)
        expect([...one.progress].sort((a, b) => a - b)).toEqual(one.progress)
      }
    },
  )
})
