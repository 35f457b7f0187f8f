import { afterAll, beforeAll, expect, it } from 'vitest'
import type { LoggedRequest } from '../../../src/simulator/request-log.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { dose } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import type { LogRow, TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { RawClient, inLanes } from '../../support/raw-client.ts'
import type { RawAnswer } from '../../support/raw-client.ts'
import { REPLACED_REQUESTS, postOf, SPLITS, replayCases, upstreamOf } from '../../support/replay-cases.ts'
import type { ReplayCase } from '../../support/replay-cases.ts'
import { expectedAnswer, isRedactionOf } from '../../support/replay-oracle.ts'
import type { Expected } from '../../support/replay-oracle.ts'

const SEED = 20_260_501
const LANES = 48
const ERROR_TYPES =
  /^(invalid_request|auth_error|access_denied|rate_limit|quota_exhausted|server_error|service_unavailable)$/

interface Played {
  readonly played: ReplayCase
  readonly expected: Expected
  readonly answer: RawAnswer
}

let simulator: Simulator
let gateway: TestGateway
/** Byte for byte is for the long tier: unit tests of the decoders cut every recording behind every byte. */
const splits = SPLITS.slice(0, dose('SLUICE_TEST_SPLITS', { short: 1, long: SPLITS.length }))
const cases = replayCases(SEED, splits)
const results: Played[] = []
const upstreamBodies = new Map<string, LoggedRequest[]>()

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    upstreams: cases.map((one) => upstreamOf(one, simulator.origin)),
    // Errors of several lanes at the same time are all tried at the second key.
    config: { upstream: { retry_budget_min: LANES } },
  })
  console.log(`recorded replay: seed ${SEED}, ${cases.length} cases`)
}, 120_000)

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

it('plays every recorded answer, byte for byte', { timeout: 600_000 }, async () => {
  const clients: RawClient[] = []
  const wrong: string[] = []
  await inLanes(cases, LANES, async (played, lane) => {
    for (const credential of played.credentials) simulator.configureKey(credential, { recorded: played.model })
    simulator.record(played.answer)
    // Kept alive over many answers: a byte too many or too few would end up in the next one.
    let client = clients[lane]
    if (client === undefined || client.ended) client = clients[lane] = await RawClient.connect(gateway.port)
    const answer = await client.post(postOf(played, gateway.apiKey))
    const expected = expectedAnswer(played.fixture, played.wantsUsage)
    results.push({ played, expected, answer })
    const fault = faultOf(expected, answer, played)
    if (fault !== null) wrong.push(`${played.name}: ${fault}`)
    collectUpstreamBodies()
  })
  for (const client of clients) client.close()
  collectUpstreamBodies()

  report()
  expect(wrong).toEqual([])
})

it('sends every recorded request on as it was, but for asking for usage', () => {
  let unchanged = 0
  for (const { fixture, credentials, upstreamBody, name } of cases) {
    const [request] = upstreamBodies.get(credentials[0] ?? '') ?? upstreamBodies.get(credentials[1] ?? '') ?? []
    expect(request, name).toBeDefined()
    if (request === undefined || request.bodyBytes > 65_536) continue
    const before = JSON.parse(upstreamBody.toString()) as { stream?: boolean; stream_options?: Record<string, unknown> }
    const asksAlready = before.stream_options?.['include_usage'] === true
    if (fixture.protocol === 'openai-chat' && before.stream === true && !asksAlready) {
      const stream_options = { ...before.stream_options, include_usage: true }
      expect(JSON.parse(request.body), name).toEqual({ ...before, stream_options })
    } else {
      expect(request.body === upstreamBody.toString(), name).toBe(true)
      unchanged++
    }
  }
  expect(unchanged).toBeGreaterThan(333 * splits.length)
})

it("logs each of them once, with the recording's usage", { timeout: 120_000 }, async () => {
  const rows = await eventually(
    async () => {
      const all = await gateway.logRows()
      expect(all.length).toBeGreaterThanOrEqual(results.length)
      return all
    },
    { timeoutMs: 90_000, everyMs: 500 },
  )
  expect(rows.length).toBe(results.length)
  const byId = new Map(rows.map((row) => [row.id, row]))
  expect(byId.size).toBe(results.length)
  const wrong = results.flatMap((result) => {
    const fault = rowFaultOf(result, byId.get(result.answer.requestId))
    return fault === null ? [] : [`${result.played.name}: ${fault}`]
  })
  expect(wrong).toEqual([])
  const exact = results.filter(({ expected }) => expected.settlement === 'exact').length
  console.log(`recorded replay: ${exact} rows with the provider's own count`)
  expect(exact).toBeGreaterThan(433 * splits.length)
})

it('covers every fixture with every split', () => {
  const count = (keep: (result: Played) => boolean): number => results.filter(keep).length
  const fixtures = new Set(cases.map(({ fixture }) => fixture.id))
  expect(fixtures.size).toBe(515)
  for (const split of splits) {
    expect(new Set(cases.filter((one) => one.split === split).map(({ fixture }) => fixture.id)).size).toBe(515)
  }
  expect(results.length).toBe(515 * splits.length + 135)
  expect(count(({ expected }) => expected.kind === 'broken')).toBeGreaterThanOrEqual(4 * splits.length)
  // The others lack what the client did not ask for, have a terminal event more, or are errors.
  const asRecorded = count(({ played, answer }) => answer.body.equals(played.fixture.response))
  console.log(`recorded replay: ${asRecorded} of ${results.length} answers equal to the recording in every byte`)
  expect(asRecorded).toBeGreaterThan(416 * splits.length)
})

/** The simulator keeps a thousand requests: they are taken over as they come. */
let collectedTo = 0
function collectUpstreamBodies(): void {
  const { started } = simulator.ledger.totals
  if (started < collectedTo + 200 && results.length < cases.length) return
  for (const request of simulator.requests(collectedTo)) {
    if (request.bodyAt === null) break
    collectedTo = request.n
    upstreamBodies.set(request.credential, [...(upstreamBodies.get(request.credential) ?? []), request])
  }
}

function faultOf(expected: Expected, answer: RawAnswer, { fixture }: ReplayCase): string | null {
  const { status, body, headers, requestId } = answer
  if (status !== expected.status)
    return `status ${status} instead of ${expected.status}: ${body.toString().slice(0, 300)}`
  if (requestId === '') return 'no request id'
  switch (expected.kind) {
    case 'body': {
      const type = fixture.kind === 'stream' ? 'text/event-stream; charset=utf-8' : 'application/json'
      if (headers.get('content-type') !== type) return `content type ${headers.get('content-type')}`
      const passed = expected.hasOwnUsage === true ? withoutOwnUsage(body) : body
      return passed.equals(expected.body) ? null : differenceOf(passed, expected.body)
    }
    case 'broken': {
      const prefix = body.subarray(0, expected.body.length)
      if (!prefix.equals(expected.body)) return differenceOf(prefix, expected.body)
      const event = /^(?:event: error\n)?data: (.*)\n\n$/.exec(body.toString('utf8', expected.body.length))
      if (event === null) return `no single error event: ${body.toString('utf8', expected.body.length)}`
      return errorFaultOf(event[1] ?? '', null, answer, fixture.protocol)
    }
    case 'error':
      if (status === 503 && !/^[1-9]\d*$/.test(headers.get('retry-after') ?? '')) return 'no Retry-After'
      return errorFaultOf(body.toString(), expected.message, answer, fixture.protocol)
  }
}

/** The stream without the gateway's chunk ahead of its last event; as it is where there is none. */
function withoutOwnUsage(body: Buffer): Buffer {
  const own =
    /data: \{"id":[^\n]*"choices":\[\],"usage":\{"prompt_tokens":\d+,"completion_tokens":\d+[^\n]*\}\n\n(?=data: \[DONE\]\s*$)/
  return Buffer.from(body.toString('latin1').replace(own, ''), 'latin1')
}

function errorFaultOf(json: string, told: string | null, { requestId }: RawAnswer, protocol: string): string | null {
  const error = JSON.parse(json) as { type?: string; request_id?: string; error: Record<string, string | null> }
  const id = protocol === 'openai-chat' ? error.error['request_id'] : error.request_id
  const members = protocol === 'openai-chat' ? 'code,message,param,request_id,type' : 'message,type'
  const shown = error.error['message'] ?? ''
  if (id !== requestId) return `request id ${id} instead of ${requestId}`
  if (protocol === 'anthropic-messages' && error.type !== 'error') return `type ${error.type}`
  if (Object.keys(error.error).sort().join() !== members) return `members of ${json}`
  if (!ERROR_TYPES.test(error.error['type'] ?? '')) return `error type of ${json}`
  if (told === null || isRedactionOf(shown, told)) return shown === '' ? 'no message' : null
  return `message ${JSON.stringify(shown)} for ${JSON.stringify(told)}`
}

function rowFaultOf({ expected, played }: Played, row: LogRow | undefined): string | null {
  if (row === undefined) return 'no row'
  const { usage, settlement, observedTokens } = expected
  if (row.status !== expected.status) return `status ${row.status}`
  if (row.aborted) return 'aborted'
  if ((row.error_code === null) !== (expected.kind === 'body')) return `error code ${row.error_code}`
  if (expected.kind === 'error') {
    // Two keys have the same answer: what another key may mend is tried there.
    const attempts = played.fixture.kind === 'error' && expected.status !== 400 ? 2 : 1
    if (row.attempts !== attempts) return `${row.attempts} attempts`
  } else if (row.attempts !== 1) return `${row.attempts} attempts`
  if (row.settlement !== settlement) return `settlement ${row.settlement} instead of ${settlement}`
  if (settlement === 'observed') {
    return row.completion_tokens < observedTokens ? `${row.completion_tokens} < ${observedTokens} tokens` : null
  }
  const counted = {
    promptTokens: row.prompt_tokens,
    completionTokens: row.completion_tokens,
    cachedTokens: row.cached_tokens,
    reasoningTokens: row.reasoning_tokens,
  }
  const { cacheWriteTokens: _, ...told } = usage ?? { ...NO_USAGE, cacheWriteTokens: 0 }
  return JSON.stringify(counted) === JSON.stringify({ ...NO_USAGE, ...told })
    ? null
    : `usage ${JSON.stringify(counted)} instead of ${JSON.stringify(told)}`
}

const NO_USAGE = { promptTokens: 0, completionTokens: 0, cachedTokens: 0, reasoningTokens: 0 }

function differenceOf(got: Buffer, wanted: Buffer): string {
  let at = 0
  while (at < got.length && got[at] === wanted[at]) at++
  const near = (bytes: Buffer): string => JSON.stringify(bytes.toString('utf8', Math.max(0, at - 20), at + 60))
  return `${got.length} bytes instead of ${wanted.length}, other from ${at} on: ${near(got)} instead of ${near(wanted)}`
}

function report(): void {
  const counts = new Map<string, number>()
  for (const { played, expected } of results) {
    const what = `${played.fixture.kind} as ${expected.kind}, ${played.split}`
    counts.set(what, (counts.get(what) ?? 0) + 1)
  }
  console.log(`recorded replay: ${[...counts].map(([what, count]) => `${count} × ${what}`).join('; ')}`)
  for (const [id, reason] of Object.entries(REPLACED_REQUESTS)) {
    console.log(`recorded replay: ${id} with another request: ${reason}`)
  }
  const { p99, max } = simulator.stats().loopDelayMs
  console.log(`recorded replay: ${simulator.ledger.totals.bytesWritten} bytes; loop delay p99 ${p99} ms, max ${max} ms`)
}
