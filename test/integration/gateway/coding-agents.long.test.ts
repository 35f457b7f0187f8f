import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { arrivals, uniqueMark } from '../../support/ai-calls.ts'
import { CODING_AGENTS } from '../../support/coding-agents.ts'
import { eventually } from '../../support/eventually.ts'
import type { LogRow, TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { cannotRunClients, installFromNpm, runClient } from '../../support/installed-client.ts'
import type { UPSTREAM_FORMS } from '../../support/upstream-forms.ts'
import { upstreamsOfAllForms } from '../../support/upstream-forms.ts'

// Agents that people use, as their registry has them, work through the gateway: two turns of a tool and an answer.

const PATIENCE_MS = 600_000
const FORMS = [
  'openai-chat',
  'anthropic-messages',
  'bedrock-converse',
] as const satisfies readonly (keyof typeof UPSTREAM_FORMS)[]

let simulator: Simulator
let gateway: TestGateway
const places: string[] = []

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({ upstreams: upstreamsOfAllForms(simulator.origin) })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
  for (const place of places) rmSync(place, { recursive: true, force: true })
})

function place(): string {
  const made = mkdtempSync(join(tmpdir(), 'sluice-agent-'))
  places.push(made)
  return made
}

/** The rows of all requests whose text reached the upstream. */
function rowsOf(model: string, since: number, count: number): Promise<LogRow[]> {
  return eventually(
    async () => {
      const rows = await gateway.logRows({ model })
      const ours = rows.filter(({ time }) => Date.parse(time) >= since)
      expect(ours.length).toBeGreaterThanOrEqual(count)
      return ours
    },
    { timeoutMs: 40_000 },
  )
}

describe.each(CODING_AGENTS)('$name', ({ packages, endpoint, losesOutput, shell, start }) => {
  it.for(FORMS)(
    'runs two commands and answers, over an upstream of %s',
    { timeout: PATIENCE_MS },
    async (model, { skip }) => {
      const missing = await cannotRunClients()
      if (missing !== null) return skip(missing)
      const installed = await installFromNpm(packages)
      if ('missing' in installed) return skip(`cannot be installed here: ${installed.missing}`)
      const [cwd, home, mark] = [place(), place(), uniqueMark()]
      const turns = [
        { text: 'I write it.', tool: shell('printf first > one.txt') },
        { text: 'I copy it.', tool: shell('cat one.txt one.txt > two.txt && cat two.txt') },
      ]
      const prompt = `Make two files: ${mark} [[sim ${JSON.stringify({ turns })}]]`
      const since = Date.now()
      const setup = { url: gateway.url, apiKey: gateway.apiKey, model, home, prompt }
      const { command, env } = start(setup, installed.directory)
      const { code, output } = await runClient(command, { cwd, home, env, port: Number(new URL(gateway.url).port) })
      expect([code, output]).toEqual([0, expect.stringContaining('The tool said:')])
      expect(readFileSync(join(cwd, 'two.txt'), 'utf8')).toBe('firstfirst')

      const asked = arrivals(simulator, mark)
      const sentBack = losesOutput === true ? 'cat two.txt' : 'firstfirst'
      expect(asked.filter(({ body }) => body.includes(sentBack)).length).toBeGreaterThan(0)
      const rows = await rowsOf(model, since, asked.length)
      expect(rows.map(({ status, error_code: error }) => [status, error])).toEqual(rows.map(() => [200, null]))
      const streams = rows.filter(({ stream }) => stream)
      expect(streams.length).toBeGreaterThanOrEqual(3)
      for (const row of streams) {
        expect([row.endpoint, row.prompt_tokens > 0, row.completion_tokens > 0]).toEqual([endpoint, true, true])
      }
    },
  )
})
