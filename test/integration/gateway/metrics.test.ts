import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import { startGateway } from '../../support/gateway.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { parsePrometheusText, sumOf } from '../../support/prometheus-text.ts'
import type { ParsedFamily } from '../../support/prometheus-text.ts'
import { freePort } from '../../support/free-port.ts'

const TOKEN = 'a-token-for-the-scraper'
const CREDENTIAL = 'upstream-credential-that-stays-inside'

let simulator: Simulator
let gateway: TestGateway
let metricsPort: number

beforeAll(async () => {
  simulator = await startSimulator()
  metricsPort = await freePort()
  gateway = await startGateway({
    fronts: 2,
    upstreams: [
      {
        id: 'sim',
        dialect: 'openai-chat',
        baseUrl: `http://127.0.0.1:${simulator.port}/v1`,
        models: ['m', 'family-*'],
        keys: [{ id: 'first', credential: CREDENTIAL, max_concurrency: 50 }],
      },
    ],
    config: { metrics: { port: metricsPort, token: TOKEN } },
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

describe('GET /metrics', () => {
  it('counts what both fronts served, by endpoint, model and outcome', async () => {
    const models = ['m', 'm', 'm', 'family-a', 'family-b', 'no-such-model', 'nor-this-one']
    for (const model of models) await chat(model)
    await chat('m', { stream: true })
    await chat('m', { temperature: 9 })
    await eventually(async () => {
      const families = await scrape()
      const requests = (labels: Record<string, string>): number => sumOf(families, 'sluice_requests_total', labels)
      expect(requests({ model: 'm', status: '2xx', code: 'OK' })).toBe(4)
      expect(requests({ model: 'family-*', code: 'OK' })).toBe(2)
      expect(requests({ model: 'other', status: '4xx', code: 'MODEL_NOT_FOUND' })).toBe(2)
      expect(requests({ code: 'INVALID_FIELD' })).toBe(1)
      expect(requests({ endpoint: 'chat.completions' })).toBe(9)
      expect(sumOf(families, 'sluice_request_duration_seconds_count', { stream: 'true' })).toBe(1)
      expect(sumOf(families, 'sluice_upstream_attempts_total', { provider: 'sim', key: 'first', outcome: 'ok' })).toBe(
        6,
      )
      expect(sumOf(families, 'sluice_phase_duration_seconds_count', { phase: 'auth' })).toBe(9)
      expect(sumOf(families, 'sluice_phase_duration_seconds_count', { phase: 'upstream' })).toBe(6)
      expect(sumOf(families, 'sluice_time_to_first_byte_seconds_count', { model: 'm' })).toBe(4)
      expect(sumOf(families, 'sluice_tokens_total', { kind: 'prompt' })).toBe(simulator.ledger.totals.promptTokens)
      expect(sumOf(families, 'sluice_tokens_total', { kind: 'completion' })).toBe(
        simulator.ledger.totals.completionTokens,
      )
    })
  })

  it('tells the state of every process, and of the journal', async () => {
    await eventually(async () => {
      const families = await scrape()
      const processes = (name: string): unknown[] =>
        (families.get(name)?.samples ?? []).map(({ labels }) => labels['process']).sort()
      expect(processes('sluice_process_resident_memory_bytes')).toEqual(['control', 'front-0', 'front-1'])
      expect(processes('sluice_client_connections')).toEqual(['front-0', 'front-1'])
      expect(sumOf(families, 'sluice_link_fronts')).toBe(2)
      expect(sumOf(families, 'sluice_upstream_slots_held', { key: 'first' })).toBe(50)
      expect(sumOf(families, 'sluice_upstream_slots_used')).toBe(0)
      expect(sumOf(families, 'sluice_upstream_key_state', { state: 'ok' })).toBe(2)
      expect(sumOf(families, 'sluice_settled_rows_total')).toBe(9)
      expect(sumOf(families, 'sluice_journal_unsettled_bytes')).toBe(0)
      expect(sumOf(families, 'sluice_dead_letters_total')).toBe(0)
      expect(sumOf(families, 'sluice_journal_records_total')).toBeGreaterThanOrEqual(9)
      expect(sumOf(families, 'sluice_journal_writable')).toBe(2)
      expect(sumOf(families, 'sluice_store_up', { store: 'database' })).toBe(1)
      expect(sumOf(families, 'sluice_event_loop_delay_seconds', { process: 'front-0', stat: 'max' })).toBeLessThan(60)
    })
  })

  it('follows requests in flight and client connections up and down', async () => {
    const leave = new AbortController()
    const held = Array.from({ length: 5 }, () => chat('m', {}, '[[sim {"fault":"hang-before-headers"}]]', leave.signal))
    await eventually(async () => {
      const families = await scrape()
      expect(sumOf(families, 'sluice_requests_in_flight')).toBe(5)
      expect(sumOf(families, 'sluice_upstream_slots_used', { key: 'first' })).toBe(5)
      expect(sumOf(families, 'sluice_client_connections')).toBeGreaterThanOrEqual(5)
    })
    leave.abort()
    await Promise.allSettled(held)
    await eventually(async () => {
      const families = await scrape()
      expect(sumOf(families, 'sluice_requests_in_flight')).toBe(0)
      expect(sumOf(families, 'sluice_requests_total', { code: 'CLIENT_CLOSED', status: '4xx' })).toBe(5)
    })
  })

  it('drops the state of a front that died and keeps what it had counted', async () => {
    const before = sumOf(await scrape(), 'sluice_requests_total')
    const [front] = gateway.children().filter(({ kind }) => kind === 'front')
    process.kill(front?.pid ?? 0, 'SIGKILL')
    await eventually(async () => {
      expect(gateway.children().filter(({ kind, pid }) => kind === 'front' && pid !== front?.pid)).toHaveLength(2)
      const families = await scrape()
      expect(sumOf(families, 'sluice_link_fronts')).toBe(2)
      expect(families.get('sluice_requests_in_flight')?.samples).toHaveLength(2)
      expect(sumOf(families, 'sluice_requests_total')).toBe(before)
    })
  })

  it('is for admins and for the token, on the public port', async () => {
    const url = `${gateway.url}/metrics`
    expect((await fetch(url)).status).toBe(401)
    expect((await fetch(url, bearer(gateway.apiKey))).status).toBe(401)
    expect((await fetch(url, bearer(`${TOKEN}x`))).status).toBe(401)
    for (const token of [TOKEN, await gateway.adminToken()]) {
      const answer = await fetch(url, bearer(token))
      expect([answer.status, answer.headers.get('content-type')]).toEqual([
        200,
        'text/plain; version=0.0.4; charset=utf-8',
      ])
      parsePrometheusText(await answer.text())
    }
  })

  it('asks for the token on its own listener too, and serves nothing else there', async () => {
    const url = `http://127.0.0.1:${metricsPort}`
    expect((await fetch(`${url}/metrics`)).status).toBe(401)
    expect((await fetch(`${url}/metrics`, { ...bearer(TOKEN), method: 'POST' })).status).toBe(405)
    expect((await fetch(`${url}/v1/admin/logs`, bearer(TOKEN))).status).toBe(404)
  })

  it('holds no secret', async () => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`, bearer(TOKEN))).text()
    for (const secret of [CREDENTIAL, gateway.apiKey, TOKEN, await gateway.adminToken()]) {
      expect(text).not.toContain(secret)
    }
  })
})

async function scrape(): Promise<Map<string, ParsedFamily>> {
  const answer = await fetch(`http://127.0.0.1:${metricsPort}/metrics`, bearer(TOKEN))
  expect(answer.status).toBe(200)
  return parsePrometheusText(await answer.text())
}

function bearer(token: string): { headers: Record<string, string> } {
  return { headers: { authorization: `Bearer ${token}` } }
}

async function chat(
  model: string,
  more: Record<string, unknown> = {},
  content = 'hello',
  signal: AbortSignal | null = null,
): Promise<void> {
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${gateway.apiKey}` },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }], ...more }),
    signal,
  })
  await answer.text()
}
