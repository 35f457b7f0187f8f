import type { Config, UpstreamConfig } from '../../config/shape.ts'
import { ENDPOINTS } from '../../core/endpoint.ts'
import { isServiceAccount } from '../../core/service-account.ts'
import type { UpstreamKey } from '../../core/snapshot.ts'
import { translateRequest } from '../../dialects/translate.ts'
import { baseOf } from '../../gateway/upstream-address.ts'
import { buildUpstreamLook, buildUpstreamRequest } from '../../gateway/upstream-request.ts'
import type { ClockReading } from './clock.ts'
import { failed, ok, reasonOf, skipped, warning } from './finding.ts'
import type { Finding } from './finding.ts'

const LOOK_TIMEOUT_MS = 10_000
const CALL_TIMEOUT_MS = 60_000
const MAX_TOKENS = 16

export interface UpstreamReport {
  readonly findings: readonly Finding[]
  readonly clock: ClockReading | null
}

/** What the providers of the configuration are asked, and how many. */
export function upstreamChecks(config: Config, spend: boolean): ReadonlyArray<() => Promise<UpstreamReport>> {
  if (config.upstreams.length === 0) {
    return [
      async () => ({ findings: [skipped('upstreams', 'none are configured: the simulator answers')], clock: null }),
    ]
  }
  return config.upstreams.map((upstream) => () => checkUpstream(upstream, spend))
}

async function checkUpstream(upstream: UpstreamConfig, spend: boolean): Promise<UpstreamReport> {
  const check = `upstream ${upstream.id}`
  const { origin } = baseOf(upstream.baseUrl)
  const before = Date.now()
  const answer = await reach(origin).catch((cause: unknown) => reasonOf(cause))
  if (typeof answer === 'string') {
    const fix = `see that base_url is right, and that this machine may connect to ${origin}`
    return { findings: [failed(check, `${origin} cannot be reached: ${answer}`, fix)], clock: null }
  }
  const findings = [ok(check, `${origin} answers in ${Date.now() - before} ms`)]
  for (const key of upstream.keys) {
    const name = `${check}, key ${key.name}`
    if (!key.enabled) findings.push(skipped(name, 'disabled'))
    else findings.push(spend ? await checkByCall(name, upstream, key) : await checkByLook(name, upstream, key))
  }
  return { findings, clock: clockOf(answer, before, origin) }
}

/** Whatever it answers, it is there. */
async function reach(origin: string): Promise<Response> {
  const response = await fetch(origin, { redirect: 'manual', signal: AbortSignal.timeout(LOOK_TIMEOUT_MS) })
  await response.body?.cancel()
  return response
}

function clockOf(response: Response, before: number, of: string): ClockReading | null {
  const date = Date.parse(response.headers.get('date') ?? '')
  if (Number.isNaN(date)) return null
  // The header has whole seconds.
  return { of, offsetMs: date + 500 - (before + Date.now()) / 2, exactMs: 500 + (Date.now() - before) }
}

/** Costs nothing: the list of models, where the dialect has one. */
async function checkByLook(name: string, upstream: UpstreamConfig, key: UpstreamKey): Promise<Finding> {
  const { dialect, apiVersion, auth } = upstream
  const isListed = (dialect === 'openai-chat' || dialect === 'anthropic-messages') && apiVersion === undefined
  if (!isListed || auth === 'aws' || auth === 'google') {
    return skipped(name, 'only a call would show whether it works: --spend makes one')
  }
  const { origin, pathname } = baseOf(upstream.baseUrl)
  const version = dialect === 'anthropic-messages' ? ['anthropic-version', '2023-06-01'] : []
  const look = buildUpstreamLook(upstream, key.credential, { origin, path: `${pathname}/models`, auth }, version)
  return send(look, LOOK_TIMEOUT_MS).then(
    (status) => {
      if (isRefusal(status)) return refused(name, status)
      return status === 200
        ? ok(name, 'is let in')
        : skipped(name, `the list of models answers ${status}, which says nothing about the key: --spend makes a call`)
    },
    (cause: unknown) => failed(name, reasonOf(cause), 'see that base_url is right'),
  )
}

/** The smallest call there is. */
async function checkByCall(name: string, upstream: UpstreamConfig, key: UpstreamKey): Promise<Finding> {
  const model = upstream.models.find(({ upstreamModel }) => !upstreamModel.endsWith('*'))
  if (upstream.converses === false) return skipped(name, 'serves no conversations, which a call is made of')
  if (model === undefined) return skipped(name, 'no model is named that could be called')
  if (isServiceAccount(key.credential)) return skipped(name, 'service accounts are tried by the gateway alone')
  const { upstreamModel } = model
  const asked = { model: upstreamModel, max_tokens: MAX_TOKENS, messages: [{ role: 'user', content: 'Hi' }] }
  const { body } = translateRequest(
    Buffer.from(JSON.stringify(asked)),
    { client: 'openai-chat', upstream: upstream.dialect },
    { ...upstream.target, model: upstreamModel, stream: false },
  )
  const call = buildUpstreamRequest({
    deployment: { provider: upstream, key, upstreamModel, weight: 1 },
    credential: key.credential,
    endpoint: ENDPOINTS.chat,
    vendor: 'anthropic',
    request: { method: 'POST', path: '', query: '', headers: {}, address: '', params: [] },
    body,
    stream: false,
    trace: null,
    nowMs: Date.now(),
  })
  return send(call, CALL_TIMEOUT_MS).then(
    (status) => {
      if (isRefusal(status)) return refused(name, status)
      if (status === 200) return ok(name, `${upstreamModel} answers`)
      if (status === 429)
        return warning(name, 'is limited at the moment', 'see the limits and the balance of its account')
      return failed(name, `${upstreamModel} answers ${status}`, 'see that the key may use this model there')
    },
    (cause: unknown) => failed(name, reasonOf(cause), 'see that base_url is right'),
  )
}

interface Call {
  readonly origin: string
  readonly path: string
  readonly method: string
  readonly headers: readonly string[]
  readonly body: Uint8Array | null
}

/** The status alone: what is in the answer may repeat the credential. */
async function send({ origin, path, method, headers, body }: Call, timeoutMs: number): Promise<number> {
  const pairs = Array.from({ length: headers.length / 2 }, (_, at): [string, string] => [
    headers[2 * at] ?? '',
    headers[2 * at + 1] ?? '',
  ])
  const response = await fetch(`${origin}${path}`, {
    method,
    headers: pairs,
    redirect: 'manual',
    signal: AbortSignal.timeout(timeoutMs),
    ...(body === null ? {} : { body }),
  })
  await response.body?.cancel()
  return response.status
}

function isRefusal(status: number): boolean {
  return status === 401 || status === 403
}

function refused(name: string, status: number): Finding {
  return failed(name, `is refused with ${status}`, 'give the upstream a credential that is valid')
}
