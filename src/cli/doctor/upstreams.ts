import type { Config, UpstreamConfig } from '../../shared/config/shape.ts'
import { systemClock } from '../../shared/runtime/clock.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { ModelCatalogue, targetQuirks } from '../../shared/core/model-facts.ts'
import type { UpstreamKey } from '../../shared/core/snapshot.ts'
import { baseOf } from '../../front/gateway/upstream-address.ts'
import { buildUpstreamLook } from '../../front/gateway/upstream-request.ts'
import { UpstreamProbes } from '../../front/gateway/upstream-probes.ts'
import type { ClockReading } from './clock.ts'
import { failed, ok, reasonOf, skipped, warning } from './finding.ts'
import type { Finding } from './finding.ts'

const LOOK_TIMEOUT_MS = 10_000
const CALL_TIMEOUT_MS = 60_000

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
  return config.upstreams.map((upstream) => () => checkUpstream(config, upstream, spend))
}

async function checkUpstream(config: Config, upstream: UpstreamConfig, spend: boolean): Promise<UpstreamReport> {
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
    else findings.push(spend ? await checkByCall(name, config, upstream, key) : await checkByLook(name, upstream, key))
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
      if (isRefusal(status)) return refused(name, `is refused with ${status}`)
      return status === 200
        ? ok(name, 'is let in')
        : skipped(name, `the list of models answers ${status}, which says nothing about the key: --spend makes a call`)
    },
    (cause: unknown) => failed(name, reasonOf(cause), 'see that base_url is right'),
  )
}

/** A small call, made as the gateway makes it. */
async function checkByCall(name: string, config: Config, upstream: UpstreamConfig, key: UpstreamKey): Promise<Finding> {
  const { models, ...provider } = upstream
  const model = models.find(({ upstreamModel }) => !upstreamModel.endsWith('*'))
  if (model === undefined) return skipped(name, 'no model is named that could be called')
  const { upstreamModel } = model
  const facts = new ModelCatalogue(config.models).factsOf(upstreamModel, provider.profile ?? null, provider.id)
  const target = targetQuirks(facts, provider.target)
  const trials = new UpstreamProbes(systemClock, config.server.vendor)
  try {
    const { error } = await trials.run(
      { provider, key, upstreamModel, weight: 1, target },
      AbortSignal.timeout(CALL_TIMEOUT_MS),
    )
    if (error === null) return ok(name, `${upstreamModel} answers`)
    if (error.code === 'UPSTREAM_RATE_LIMITED') {
      return warning(name, 'is limited at the moment', 'see the limits and the balance of its account')
    }
    if (error.code === 'UPSTREAM_AUTH') return refused(name, error.said)
    return failed(name, `${upstreamModel}: ${error.said}`, 'see that base_url is right and the key may use this model')
  } catch (cause) {
    if (cause instanceof GatewayError && cause.code === 'INVALID_FIELD') return skipped(name, cause.message)
    throw cause
  }
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

function refused(name: string, says: string): Finding {
  return failed(name, says, 'give the upstream a credential that is valid')
}
