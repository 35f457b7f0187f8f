import { afterAll, beforeAll, expect, it } from 'vitest'
import { ClosedLoop } from '../../bench/support/closed-loop.ts'
import { startFixedUpstream } from '../../bench/support/fixed-upstream.ts'
import type { FixedUpstream } from '../../bench/support/fixed-upstream.ts'
import { eventually } from '../support/eventually.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { parsePrometheusText, sumOf } from '../support/prometheus-text.ts'

const CLIENTS = 32
const MAX_IN_FLIGHT = 64
/** Requests that are served before anything is said of a load. */
const SERVED = 1_000
const SERVED_AGAIN = 200
const REFUSED = 20
const PATIENCE = { timeoutMs: 60_000 }

let upstream: FixedUpstream
let gateway: TestGateway
let load: ClosedLoop

beforeAll(async () => {
  upstream = await startFixedUpstream(20)
  gateway = await startGateway({
    upstreams: [
      {
        dialect: 'openai-chat',
        baseUrl: upstream.baseUrl,
        models: ['m'],
        keys: [{ credential: 'one', max_concurrency: 1_000 }],
      },
    ],
    config: { limits: { max_requests_in_flight: MAX_IN_FLIGHT }, overload: { loop_delay_ms: 10, min_concurrency: 48 } },
  })
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello' }] })
  const headers = { authorization: `Bearer ${gateway.apiKey}` }
  load = new ClosedLoop({ baseUrl: `${gateway.url}/v1`, headers, body }, 'honour')
})

afterAll(async () => {
  load.resize(0)
  await gateway.stop()
  upstream.close()
})

it('serves on under ten times the clients it can, refuses the others well, and is itself again afterwards', async () => {
  load.resize(CLIENTS)
  const before = await until(({ served }) => served >= SERVED)
  expect([before.refused, before.failed]).toEqual([0, 0])

  load.resize(10 * CLIENTS)
  const health = probe(['/health', '/health/live', '/health/ready'])
  const overload = await until(({ served, refused }) => served >= SERVED && refused >= REFUSED)
  const statuses = await health.stop()

  expect([overload.malformed, overload.failed]).toEqual([0, 0])
  expect(statuses.length).toBeGreaterThan(3)
  expect(new Set(statuses)).toEqual(new Set([200]))
  const families = parsePrometheusText(await metrics())
  expect(sumOf(families, 'sluice_overload_refusals_total')).toBeGreaterThan(0)

  load.resize(CLIENTS / 2)
  await eventually(async () => {
    const after = await until(({ served }) => served >= SERVED_AGAIN)
    expect([after.refused, after.failed]).toEqual([0, 0])
  }, PATIENCE)
})

it('counts every refusal and records some', async () => {
  await eventually(async () => {
    const families = parsePrometheusText(await metrics())
    const refused = sumOf(families, 'sluice_overload_refusals_total')
    expect(sumOf(families, 'sluice_requests_total', { code: 'GATEWAY_OVERLOADED', status: '5xx' })).toBe(refused)
    const rows = (await gateway.logRows({ status: '503' })).filter(
      ({ error_code: code }) => code === 'GATEWAY_OVERLOADED',
    )
    expect(rows.length).toBeGreaterThan(0)
    expect(rows.length).toBeLessThanOrEqual(refused)
  })
})

interface Counts {
  served: number
  refused: number
  malformed: number
  failed: number
}

/** What happens to the clients from now on, until it is enough. */
async function until(isEnough: (counts: Counts) => boolean): Promise<Counts> {
  load.take()
  const counts = { served: 0, refused: 0, malformed: 0, failed: 0 }
  await eventually(() => {
    const { servedMs, refusedMs, malformed, failed } = load.take()
    counts.served += servedMs.length
    counts.refused += refusedMs.length
    counts.malformed += malformed
    counts.failed += failed
    if (!isEnough(counts)) throw new Error(`not enough: ${JSON.stringify(counts)}`)
  }, PATIENCE)
  return counts
}

/** Asks for the paths in turn until it is stopped. */
function probe(paths: readonly string[]): { stop(): Promise<number[]> } {
  const statuses: number[] = []
  const stopping = new AbortController()
  const asking = (async () => {
    while (!stopping.signal.aborted) {
      for (const path of paths) {
        const answer = await fetch(gateway.url + path)
        await answer.arrayBuffer()
        statuses.push(answer.status)
      }
    }
  })()
  return {
    stop: async () => {
      stopping.abort()
      await asking
      return statuses
    },
  }
}

async function metrics(): Promise<string> {
  const answer = await fetch(`${gateway.url}/metrics`, {
    headers: { authorization: `Bearer ${await gateway.adminToken()}` },
  })
  expect(answer.status).toBe(200)
  return answer.text()
}
