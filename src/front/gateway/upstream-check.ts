import { azureApi } from '../../dialects/azure-openai/address.ts'
import { versionedBase } from '../../dialects/gemini/address.ts'
import type { HealthCheckResult, HealthCheckSettings } from '../../shared/core/health-check.ts'
import type { GatewayError } from '../../shared/core/errors.ts'
import type { Provider, UpstreamKey } from '../../shared/core/snapshot.ts'
import type { Clock } from '../../shared/runtime/clock.ts'
import { DeadlineClock } from '../../shared/runtime/deadlines.ts'
import { Http1Client } from '../upstream/http1/http1-client.ts'
import type { Http1ClientOptions } from '../upstream/http1/http1-client.ts'
import type { UpstreamCall, UpstreamRequest } from '../upstream/upstream-client.ts'
import { baseOf } from './upstream-address.ts'
import { buildKeyCheck } from './upstream-request.ts'

const MESSAGES_VERSION = ['anthropic-version', '2023-06-01']

export interface UpstreamCheckOptions extends Pick<Http1ClientOptions, 'reach' | 'connect' | 'lookup'> {
  readonly clock: Clock
  /** The most checks at the same time. */
  readonly maxConcurrent: number
  readonly onFault: (cause: unknown) => void
}

/** Asks upstreams for something that costs nothing, to see whether they work. The answers are not read. */
export class UpstreamChecks {
  readonly #deadlines: DeadlineClock
  readonly #client: Http1Client

  constructor({ clock, maxConcurrent, onFault, ...network }: UpstreamCheckOptions) {
    this.#deadlines = new DeadlineClock(clock)
    this.#deadlines.start(onFault)
    this.#client = new Http1Client({ ...network, deadlines: this.#deadlines, maxConnections: maxConcurrent })
  }

  /** Resolves to null when this machine has no connection left: the key is not at fault. */
  check(provider: Provider, key: UpstreamKey, settings: HealthCheckSettings): Promise<HealthCheckResult | null> {
    const { request, sendsCredential } = requestOf(provider, key, settings)
    return new Promise((resolve) => {
      let call: UpstreamCall | null = null
      const state = { isOver: false }
      const end = (result: HealthCheckResult | null): void => {
        if (state.isOver) return
        state.isOver = true
        call?.abort()
        resolve(result)
      }
      call = this.#client.send(request, {
        onHead: (status) => {
          end(judged(status, sendsCredential))
        },
        onData: () => undefined,
        onEnd: () => undefined,
        onError: (error: GatewayError) => {
          end(error.code === 'GATEWAY_OVERLOADED' ? null : failureOf(error))
        },
      })
      // The client may have answered before it returned the call.
      if (state.isOver) call.abort()
    })
  }

  async close(): Promise<void> {
    await this.#client.close()
    this.#deadlines.stop()
  }
}

function failureOf({ code }: GatewayError): HealthCheckResult {
  const kind = code === 'UPSTREAM_UNREACHABLE' ? 'unreachable' : 'failed'
  return { kind, detail: code === 'UPSTREAM_TIMEOUT' ? 'no answer in time' : code }
}

function judged(status: number, sendsCredential: boolean): HealthCheckResult {
  if (status >= 500) return { kind: 'failed', detail: `status ${status}` }
  // A 403 may only mean that the key must not list models.
  if (status === 401 && sendsCredential) return { kind: 'refused', detail: `status ${status}` }
  return { kind: 'ok' }
}

function requestOf(
  provider: Provider,
  key: UpstreamKey,
  { path: configured, timeoutMs }: HealthCheckSettings,
): { readonly request: UpstreamRequest; readonly sendsCredential: boolean } {
  const { origin, pathname } = baseOf(provider.baseUrl)
  const { auth, timeouts } = provider
  const within = (ms: number): number => Math.min(ms, timeoutMs)
  const short = {
    connectMs: within(timeouts.connectMs),
    firstByteMs: within(timeouts.firstByteMs),
    idleMs: within(timeouts.idleMs),
    totalMs: within(timeouts.totalMs),
  }
  const path = configured ?? modelListPath(provider, pathname)
  // Signatures and access tokens are for calls of models.
  if (path === null || auth === 'aws' || auth === 'google') {
    const headers = ['accept-encoding', 'identity']
    const publicOnly = provider.publicOnly === true
    const request = {
      origin,
      path: path ?? '/',
      method: 'GET',
      headers,
      body: null,
      timeouts: short,
      publicOnly,
    } as const
    return { request, sendsCredential: false }
  }
  const version = provider.dialect === 'anthropic-messages' ? MESSAGES_VERSION : []
  const look = buildKeyCheck(provider, key, { origin, path }, version)
  return { request: { ...look, timeouts: short }, sendsCredential: auth !== 'none' }
}

/** The path of the list of models; null: the host has none that is known. */
function modelListPath({ dialect, apiVersion, auth }: Provider, base: string): string | null {
  if (auth === 'google') return null
  switch (dialect) {
    case 'openai-chat':
      return apiVersion === undefined ? `${base}/models` : azureListPath(base, apiVersion)
    case 'anthropic-messages':
      return `${base}/models`
    case 'gemini':
      return `${versionedBase(base)}/models?pageSize=1`
    case 'cohere-chat':
      return `${base}/v1/models?page_size=1`
    default:
      return null
  }
}

function azureListPath(base: string, apiVersion: string): string | null {
  const { prefix, api } = azureApi(base, apiVersion)
  const version = `?api-version=${encodeURIComponent(apiVersion)}`
  if (api.kind === 'models') return null
  return `${prefix}/openai${api.kind === 'v1' ? '/v1' : ''}/models${version}`
}
