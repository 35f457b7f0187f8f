import type { Clock } from '../../shared/runtime/clock.ts'
import { DeadlineClock } from '../../shared/runtime/deadlines.ts'
import type { Deployment, Slot } from '../../shared/core/deployment.ts'
import type { Endpoint } from '../../shared/core/endpoint.ts'
import { ERROR_CODES, GatewayError } from '../../shared/core/errors.ts'
import type { Exchange, Responder } from '../../shared/core/exchange.ts'
import { RequestContext } from '../../shared/core/request-context.ts'
import { serviceOf } from '../../shared/core/service.ts'
import type { UpstreamTimeouts } from '../../shared/core/snapshot.ts'
import type { UpstreamProbe } from '../../shared/core/upstream-probe.ts'
import { REACH_KEY } from '../../shared/core/upstream-reach.ts'
import { ENDPOINTS } from '../../shared/endpoints/index.ts'
import { dialectOf } from '../../dialects/codecs.ts'
import { redactUpstreamText } from '../../dialects/common/redact.ts'
import { AddressRefused } from '../upstream/connector.ts'
import { Credentials, secretsOf } from '../upstream/credentials.ts'
import { Http1Client } from '../upstream/http1/http1-client.ts'
import type { Http1ClientOptions } from '../upstream/http1/http1-client.ts'
import { createValidator } from '../validation/validate.ts'
import type { Validator } from '../validation/validate.ts'
import { Attempt } from './attempt.ts'
import type { AttemptOptions } from './attempt.ts'
import { ServiceTranslator } from './service-translator.ts'
import type { ServicePool } from './service-translator.ts'
import { Translator } from './translator.ts'
import type { TranslationPool } from './translator.ts'

const MAX_CONCURRENT = 4
const DEADLINE_MS = 30_000
const MAX_ANSWER_BYTES = 1_048_576
const MAX_MESSAGE_LENGTH = 1_000
/** Some providers require this minimum, and reasoning models need some tokens to answer at all. */
const ANSWER_TOKENS = 16
const PROMPT = 'Hi'

const busy = (): Promise<never> => Promise.reject(new GatewayError('WORKERS_BUSY'))
/** Never called: `Translator` and `ServiceTranslator` handle all bodies at once. */
const NO_POOL: TranslationPool & ServicePool = {
  translateRequest: busy,
  translateAnswer: busy,
  buildCalls: busy,
  readCalls: busy,
}

type OnFault = (cause: unknown) => void

/** The network options of the calls: reachable addresses, connector, resolver. */
type Network = Pick<Http1ClientOptions, 'reach' | 'connect' | 'lookup'>

/** Makes one small test call to an upstream, in the same way as a client's request. */
export class UpstreamProbes {
  readonly #clock: Clock
  readonly #vendor: string
  readonly #network: Network
  readonly #onFault: OnFault | undefined
  readonly #deadlines: DeadlineClock
  #validator: Validator | null = null
  #running = 0

  /** @param onFault gets the error that a deadline threw */
  constructor(clock: Clock, vendor: string, { onFault, ...network }: Network & { readonly onFault?: OnFault } = {}) {
    this.#clock = clock
    this.#vendor = vendor
    this.#network = network
    this.#onFault = onFault
    this.#deadlines = new DeadlineClock(clock)
  }

  /** Rejects with GATEWAY_OVERLOADED, and with INVALID_FIELD when the model allows no small call. */
  async run(deployment: Deployment, signal: AbortSignal): Promise<UpstreamProbe> {
    if (this.#running >= MAX_CONCURRENT) {
      throw new GatewayError('GATEWAY_OVERLOADED', {
        message: 'Too many tests of upstreams are running. Try again.',
        retryAfterSeconds: 1,
      })
    }
    const asked = callFor(deployment)
    this.#running += 1
    this.#deadlines.start(this.#onFault)
    const upstream = new Http1Client({ ...this.#network, deadlines: this.#deadlines, maxConnections: 1 })
    try {
      return await this.#call(asked, upstream, AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]))
    } finally {
      await upstream.close()
      this.#running -= 1
      if (this.#running === 0) this.#deadlines.stop()
    }
  }

  async #call(
    { endpoint, deployment, body }: ProbeCall,
    upstream: Http1Client,
    signal: AbortSignal,
  ): Promise<UpstreamProbe> {
    this.#validator ??= createValidator({ maxDepth: 16, maxElements: 1_000 })
    const checked = this.#validator.validate(endpoint.name, Buffer.from(JSON.stringify(body)))
    const startUs = this.#clock.monotonicUs()
    const ctx = new RequestContext('req_trial', this.#clock.now(), startUs, endpoint, exchangeOf(signal))
    const options = this.#options(upstream)
    const result = await new Attempt(ctx, checked, slotOf(deployment), dialectOf(endpoint.bodies), options).run()
    const error =
      result.kind === 'failed'
        ? result.error
        : ctx.outcome.aborted
          ? new GatewayError('UPSTREAM_TIMEOUT', { detail: 'no complete answer in time' })
          : ctx.outcome.error
    const status = ctx.attempts[0]?.status ?? 0
    return {
      ok: error === null,
      status: status === 0 ? null : status,
      latencyMs: Math.round((this.#clock.monotonicUs() - startUs) / 1000),
      error:
        error === null ? null : { code: error.code, message: ownText(error), said: providerText(error, deployment) },
    }
  }

  #options(upstream: Http1Client): AttemptOptions {
    const translator = new Translator(NO_POOL, Infinity)
    const services = new ServiceTranslator(NO_POOL, Infinity)
    return {
      upstream,
      clock: this.#clock,
      deadlines: this.#deadlines,
      credentials: new Credentials(upstream, this.#clock),
      translator,
      services,
      vendor: this.#vendor,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      maxAttempts: 2,
      readAnswer: ({ dialect, body, translation, reading }, bytes) => {
        if (translation !== null) return translator.answer(translation, bytes)
        return reading === null ? dialect.readAnswer(bytes, body) : services.answer(reading, bytes)
      },
    }
  }
}

interface ProbeCall {
  readonly endpoint: Endpoint
  readonly deployment: Deployment
  readonly body: object
}

/** A conversation of one word, or an embeddings or rerank call when the model's name shows that it does only these. */
function callFor(given: Deployment): ProbeCall {
  const { provider, upstreamModel: model } = given
  const bounded = { ...given, provider: { ...provider, timeouts: shortened(provider.timeouts) } }
  const embeddings = serviceOf(provider.services, 'embeddings', model)
  const rerank = serviceOf(provider.services, 'rerank', model)
  if (rerank !== null && /rerank/i.test(model)) {
    return {
      endpoint: ENDPOINTS.rerank,
      deployment: { ...bounded, service: rerank },
      body: { model, query: PROMPT, documents: [PROMPT] },
    }
  }
  if (embeddings !== null && (provider.converses === false || /embed/i.test(model))) {
    const body = { model, input: PROMPT }
    return { endpoint: ENDPOINTS.embeddings, deployment: { ...bounded, service: embeddings }, body }
  }
  if (provider.converses === false) {
    const message =
      'Models for pictures and videos are not tested, because such a test is expensive. Name another model.'
    throw new GatewayError('INVALID_FIELD', { param: '/model', message })
  }
  const messages = [{ role: 'user', content: PROMPT }]
  return { endpoint: ENDPOINTS.chat, deployment: bounded, body: { model, messages, max_tokens: ANSWER_TOKENS } }
}

function shortened({ connectMs, firstByteMs, idleMs, totalMs }: UpstreamTimeouts): UpstreamTimeouts {
  const within = (ms: number): number => Math.min(ms, DEADLINE_MS)
  return {
    connectMs: within(connectMs),
    firstByteMs: within(firstByteMs),
    idleMs: within(idleMs),
    totalMs: within(totalMs),
  }
}

/** A slot outside the supply: the scheduler learns nothing from a test call. */
function slotOf(deployment: Deployment): Slot {
  return {
    deployment,
    choice: { how: 'only', score: null, waitUs: 0, others: [] },
    answered: () => undefined,
    release: () => undefined,
  }
}

/** An exchange that discards the answer. */
function exchangeOf(signal: AbortSignal): Exchange {
  const response: Responder = {
    get aborted() {
      return signal.aborted
    },
    started: false,
    onAbort: (listener) => {
      if (signal.aborted) listener()
      else signal.addEventListener('abort', listener, { once: true })
    },
    send: () => undefined,
    start: () => undefined,
    write: () => true,
    onDrain: () => undefined,
    end: () => undefined,
    destroy: () => undefined,
  }
  const request = {
    method: 'POST',
    path: '',
    query: '',
    headers: { 'user-agent': 'sluice' },
    hasTags: false,
    address: '',
    params: [],
  }
  return { request, response, readBody: () => Promise.resolve(Buffer.alloc(0)) }
}

/** The gateway's own text, with nothing of the answer: the user who chose the address must not read from it through the gateway. */
function ownText(error: GatewayError): string {
  if (!isRefusedAddress(error)) return ERROR_CODES[error.code].text
  return `The host has no address on the public Internet, and ${REACH_KEY} of the configuration file does not list it.`
}

/** Whether the address was refused, for the call itself or for its access token. */
function isRefusedAddress({ cause }: Error): boolean {
  return cause instanceof AddressRefused || (cause instanceof GatewayError && isRefusedAddress(cause))
}

/** The provider's own text, which helps the operator; redacted like the text that clients see. */
function providerText({ detail, message }: GatewayError, { provider }: Deployment): string {
  const secrets = [...secretsOf(provider), ...Object.values(provider.headers)]
  const text = detail === null || detail === '' ? message : `${message} (${detail})`
  return redactUpstreamText(text.slice(0, MAX_MESSAGE_LENGTH), secrets)
}
