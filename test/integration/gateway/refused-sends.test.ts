import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startGateway } from '../../support/gateway.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { RawClient } from '../../support/raw-client.ts'
import { LONG_PROMPT_TOKENS, LongStreamCheck, longText, longTextTokens } from '../../support/slow-streams.ts'

const SOURCE = fileURLToPath(new URL('../../support/refused-sends.c', import.meta.url))
const STREAMS = 6
const EVENTS = 400
const WHOLE_BYTES = [1_000, 15_000, 17_000, 40_000, 70_000, 400_000]

const directory = mkdtempSync(join(tmpdir(), 'sluice-sends-'))
const library = join(directory, 'refused-sends.so')
/** Machines without a C compiler cannot make the library. */
const isMade = spawnSync('cc', ['-shared', '-fPIC', '-o', library, SOURCE, '-ldl']).status === 0

afterAll(() => rmSync(directory, { recursive: true, force: true }))

describe.runIf(isMade)('a kernel whose buffer is exactly full when the head of a chunk is sent', () => {
  let simulator: Simulator
  let gateway: TestGateway

  beforeAll(async () => {
    simulator = await startSimulator()
    gateway = await startGateway({
      upstreams: [{ id: 'up', dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
      env: { LD_PRELOAD: library },
    })
  }, 90_000)

  afterAll(async () => {
    await gateway.stop()
    await simulator.close()
  })

  const post = (body: object, onBody?: (piece: Buffer) => void) =>
    RawClient.connect(gateway.port).then(async (client) => {
      const headers = { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' }
      const answer = await client.post(
        { path: '/v1/chat/completions', headers, body: JSON.stringify({ model: 'm', ...body }) },
        onBody,
      )
      client.close()
      return answer
    })

  it('costs no byte of a stream, whatever the size of its events', { timeout: 60_000 }, async () => {
    for (let n = 0; n < STREAMS; n++) {
      const text = longText(n, EVENTS)
      const check = new LongStreamCheck(longTextTokens(text), 'm')
      simulator.script([{ text, promptTokens: LONG_PROMPT_TOKENS }])
      const messages = [{ role: 'user', content: 'x' }]
      const { status } = await post({ stream: true, messages, stream_options: { include_usage: true } }, (piece) => {
        check.take(piece)
      })
      check.end()
      expect(status).toBe(200)
    }
  })

  it('costs no byte of a whole answer, however long it is', { timeout: 60_000 }, async () => {
    for (const length of WHOLE_BYTES) {
      const text = 'x'.repeat(length)
      simulator.script([{ text }])
      const { status, body } = await post({ messages: [{ role: 'user', content: 'x' }] })
      const { choices } = JSON.parse(body.toString()) as { choices: [{ message: { content: string } }] }
      expect([status, choices[0].message.content.length]).toEqual([200, length])
    }
  })
})
