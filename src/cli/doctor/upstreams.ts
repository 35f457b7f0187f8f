import { lookup as resolveHost } from 'node:dns/promises'
import type { Config, UpstreamConfig } from '../../shared/config/shape.ts'
import { systemClock } from '../../shared/runtime/clock.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { ModelCatalogue, targetQuirks } from '../../shared/core/model-facts.ts'
import { REACH_KEY, UpstreamReach } from '../../shared/core/upstream-reach.ts'
import type { UpstreamKey } from '../../shared/core/snapshot.ts'
import { baseOf } from '../../front/gateway/upstream-address.ts'
import { buildKeyCheck } from '../../front/gateway/upstream-request.ts'
import { UpstreamProbes } from '../../front/gateway/upstream-probes.ts'
import type { ClockReading } from './clock.ts'
import { failed, ok, reasonOf, skipped, warning } from './finding.ts'
import type { Finding } from './finding.ts'

const GET_TIMEOUT_MS = 10_000
const CALL_TIMEOUT_MS = 60_000

export interface UpstreamReport {
  readonly findings: readonly Finding[]
  readonly clock: ClockReading | null
}

export interface UpstreamCheckOptions {
  /** Also makes a call with each key. */
  readonly spend: boolean
  /** Returns the addresses of a host. Default: those that the machine finds. */
  readonly addressesOf?: (host: string) => Promise<readonly string[]>
}

/** One check for each upstream. */
export function upstreamChecks(
  config: Config,
  upstreams: readonly UpstreamConfig[],
  options: UpstreamCheckOptions,
): ReadonlyArray<() => Promise<UpstreamReport>> {
  return upstreams.map((upstream) => () => checkUpstream(config, upstream, options))
}

async function checkUpstream(
  config: Config,
  upstream: UpstreamConfig,
  { spend, addressesOf = foundAddresses }: UpstreamCheckOptions,
): Promise<UpstreamReport> {
  const check = `upstream ${upstream.id}`
  const { origin } = baseOf(upstream.baseUrl)
  if (upstream.publicOnly === true) {
    // The gateway does not connect there either. A call from here would send it the credential.
    const address = await refusedAddress(config, new URL(upstream.baseUrl).hostname, addressesOf)
    if (address !== null) {
      const says = `its host resolves to ${address}, which is not on the public Internet`
      return { findings: [failed(check, says, `correct base_url, or list the host in ${REACH_KEY}`)], clock: null }
    }
  }
  const before = Date.now()
  const answer = await reach(origin).catch((cause: unknown) => reasonOf(cause))
  if (typeof answer === 'string') {
    const fix = `check base_url, and that this machine can connect to ${origin}`
    return { findings: [failed(check, `${origin} cannot be reached: ${answer}`, fix)], clock: null }
  }
  const findings = [ok(check, `${origin} answers in ${Date.now() - before} ms`)]
  for (const key of upstream.keys) {
    const name = `${check}, key ${key.name}`
    if (!key.enabled) findings.push(skipped(name, 'disabled'))
    else
      findings.push(
        spend ? await checkByCall(name, config, upstream, key) : await checkByModelList(name, upstream, key),
      )
  }
  return { findings, clock: clockOf(answer, before, origin) }
}

/** Returns an address that upstreams which admins added may not have; null: there is none, or none is known. */
async function refusedAddress(
  { management }: Config,
  hostname: string,
  addressesOf: (host: string) => Promise<readonly string[]>,
): Promise<string | null> {
  const reach = new UpstreamReach(management.privateUpstreams)
  const host = hostname.replace(/^\[|\]$/g, '')
  const addresses = await addressesOf(host).catch(() => [])
  return addresses.find((address) => !reach.allows(host, address)) ?? null
}

async function foundAddresses(host: string): Promise<string[]> {
  return (await resolveHost(host, { all: true })).map(({ address }) => address)
}

/** Resolves with any response: each proves that the host is reachable. */
async function reach(origin: string): Promise<Response> {
  const response = await fetch(origin, { redirect: 'manual', signal: AbortSignal.timeout(GET_TIMEOUT_MS) })
  await response.body?.cancel()
  return response
}

function clockOf(response: Response, before: number, of: string): ClockReading | null {
  const date = Date.parse(response.headers.get('date') ?? '')
  if (Number.isNaN(date)) return null
  // `date` has whole seconds: the middle of the second has the smallest error.
  return { of, offsetMs: date + 500 - (before + Date.now()) / 2, exactMs: 500 + (Date.now() - before) }
}

/** Checks a key by the list of models, which is free of charge, where the dialect has one. */
async function checkByModelList(name: string, upstream: UpstreamConfig, key: UpstreamKey): Promise<Finding> {
  const { dialect, apiVersion, auth } = upstream
  const isListed = (dialect === 'openai-chat' || dialect === 'anthropic-messages') && apiVersion === undefined
  if (!isListed || auth === 'aws' || auth === 'google') {
    return skipped(name, 'only a call can check this key: run sluice doctor --spend')
  }
  const { origin, pathname } = baseOf(upstream.baseUrl)
  const version = dialect === 'anthropic-messages' ? ['anthropic-version', '2023-06-01'] : []
  const look = buildKeyCheck(upstream, key, { origin, path: `${pathname}/models` }, version)
  return send(look, GET_TIMEOUT_MS).then(
    (status) => {
      if (isRefusal(status)) return refused(name, `the provider refuses it with status ${status}`)
      return status === 200
        ? ok(name, 'the provider accepts it')
        : skipped(name, `GET /models answers ${status}, which does not check the key: run sluice doctor --spend`)
    },
    (cause: unknown) => failed(name, reasonOf(cause), 'check base_url'),
  )
}

/** Makes a small call in the same way as the gateway. */
async function checkByCall(name: string, config: Config, upstream: UpstreamConfig, key: UpstreamKey): Promise<Finding> {
  const { models, ...provider } = upstream
  const model = models.find(({ upstreamModel }) => !upstreamModel.endsWith('*'))
  if (model === undefined) return skipped(name, 'the configuration names no model that could be called')
  const { upstreamModel } = model
  const facts = new ModelCatalogue(config.models).factsOf(upstreamModel, provider.profile ?? null, provider.id)
  const target = targetQuirks(facts, provider.target)
  // As the gateway does: upstreams of the database must be where they are allowed.
  const reach = new UpstreamReach(config.management.privateUpstreams)
  const probes = new UpstreamProbes(systemClock, config.server.vendor, { reach })
  try {
    const { error } = await probes.run(
      { provider, key, upstreamModel, weight: 1, target },
      AbortSignal.timeout(CALL_TIMEOUT_MS),
    )
    if (error === null) return ok(name, `${upstreamModel} answers`)
    if (error.code === 'UPSTREAM_RATE_LIMITED') {
      return warning(name, 'the provider is rate limiting it', 'check the rate limits and the balance of the account')
    }
    if (error.code === 'UPSTREAM_AUTH') return refused(name, error.said)
    return failed(name, `${upstreamModel}: ${error.said}`, 'check base_url, and that the key may use this model')
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

/** Returns the status alone: the body of the answer may repeat the credential. */
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
  return failed(name, says, 'set a valid credential for this key')
}
