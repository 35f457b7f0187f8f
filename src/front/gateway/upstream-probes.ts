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
import { redactUpstreamText } from '../../dialects/redact.ts'
import { AddressRefused } from '../upstream/connector.ts'
import { GoogleTokens } from '../upstream/google-tokens.ts'
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

const MAX_AT_A_TIME = 4
const DEADLINE_MS = 30_000
const MAX_ANSWER_BYTES = 1_048_576
const MAX_MESSAGE_LENGTH = 1_000
/** Enough for the least that some providers ask for, and for models that think first to say that they did. */
const ANSWER_TOKENS = 16
const PROMPT = 'Hi'

const busy = (): Promise<never> => Promise.reject(new GatewayError('WORKERS_BUSY'))
/** Bodies are small: all of them are handled at once. */
const NO_POOL: TranslationPool & ServicePool = {
  translateRequest: busy,
  translateAnswer: busy,
  buildCalls: busy,
  readCalls: busy,
}

type OnFault = (cause: unknown) => void

/** The network of the calls: reachable addresses, connector, resolver. */
type Network = Pick<Http1ClientOptions, 'reach' | 'connect' | 'lookup'>

/** One small call to an upstream, just as a client's request would be sent there. */
export class UpstreamProbes {
  readonly #clock: Clock
  readonly #vendor: string
  readonly #network: Network
  readonly #onFault: OnFault | undefined
  readonly #deadlines: DeadlineClock
  #validator: Validator | null = null
  #underWay = 0

  /** @param onFault hears what a deadline threw */
  constructor(clock: Clock, vendor: string, { onFault, ...network }: Network & { readonly onFault?: OnFault } = {}) {
    this.#clock = clock
    this.#vendor = vendor
    this.#network = network
    this.#onFault = onFault
    this.#deadlines = new DeadlineClock(clock)
  }

  /** Rejects with GATEWAY_OVERLOADED, and with INVALID_FIELD where no small call is known. */
  async run(deployment: Deployment, signal: AbortSignal): Promise<UpstreamProbe> {
    if (this.#underWay >= MAX_AT_A_TIME) {
      throw new GatewayError('GATEWAY_OVERLOADED', { message: 'Too many tests are under way.', retryAfterSeconds: 1 })
    }
    const asked = callFor(deployment)
    this.#underWay += 1
    this.#deadlines.start(this.#onFault)
    const upstream = new Http1Client({ ...this.#network, deadlines: this.#deadlines, maxConnections: 1 })
    try {
      return await this.#call(asked, upstream, AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]))
    } finally {
      await upstream.close()
      this.#underWay -= 1
      if (this.#underWay === 0) this.#deadlines.stop()
    }
  }

  async #call(
    { endpoint, deployment, body }: TrialCall,
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
        : ctx.aborted
          ? new GatewayError('UPSTREAM_TIMEOUT', { detail: 'no whole answer in time' })
          : ctx.error
    const status = ctx.attempts[0]?.status ?? 0
    return {
      ok: error === null,
      status: status === 0 ? null : status,
      latencyMs: Math.round((this.#clock.monotonicUs() - startUs) / 1000),
      error: error === null ? null : { code: error.code, message: ownWords(error), said: saidBy(error, deployment) },
    }
  }

  #options(upstream: Http1Client): AttemptOptions {
    const translator = new Translator(NO_POOL, Infinity)
    const services = new ServiceTranslator(NO_POOL, Infinity)
    return {
      upstream,
      clock: this.#clock,
      deadlines: this.#deadlines,
      tokens: new GoogleTokens(upstream, this.#clock),
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

interface TrialCall {
  readonly endpoint: Endpoint
  readonly deployment: Deployment
  readonly body: object
}

/** A conversation of one word; where the model's name says that it does not hold any, what it does instead. */
function callFor(given: Deployment): TrialCall {
  const { provider, upstreamModel: model } = given
  const patient = { ...given, provider: { ...provider, timeouts: shortened(provider.timeouts) } }
  const embeddings = serviceOf(provider.services, 'embeddings', model)
  const rerank = serviceOf(provider.services, 'rerank', model)
  if (rerank !== null && /rerank/i.test(model)) {
    return {
      endpoint: ENDPOINTS.rerank,
      deployment: { ...patient, service: rerank },
      body: { model, query: PROMPT, documents: [PROMPT] },
    }
  }
  if (embeddings !== null && (provider.converses === false || /embed/i.test(model))) {
    const body = { model, input: PROMPT }
    return { endpoint: ENDPOINTS.embeddings, deployment: { ...patient, service: embeddings }, body }
  }
  if (provider.converses === false) {
    const message = 'Models for pictures and videos are not tested: that would be dear. Name another one.'
    throw new GatewayError('INVALID_FIELD', { param: '/model', message })
  }
  const messages = [{ role: 'user', content: PROMPT }]
  return { endpoint: ENDPOINTS.chat, deployment: patient, body: { model, messages, max_tokens: ANSWER_TOKENS } }
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

/** Of nobody's supply: what a trial finds is told to the one who asked, and to nobody else. */
function slotOf(deployment: Deployment): Slot {
  return {
    deployment,
    choice: { how: 'only', score: null, waitUs: 0, others: [] },
    answered: () => undefined,
    release: () => undefined,
  }
}

/** Nobody reads the answer: it is enough that there is one. */
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
  const request = { method: 'POST', path: '', query: '', headers: { 'user-agent': 'sluice' }, address: '', params: [] }
  return { request, response, readBody: () => Promise.resolve(Buffer.alloc(0)) }
}

/** Nothing of the answer: whoever chose the address must not read through the gateway what is there. */
function ownWords(error: GatewayError): string {
  if (!isRefusedAddress(error)) return ERROR_CODES[error.code].text
  return `The host has no address on the public Internet, and ${REACH_KEY} of the configuration file does not list it.`
}

/** Also where a token was to be fetched. */
function isRefusedAddress({ cause }: Error): boolean {
  return cause instanceof AddressRefused || (cause instanceof GatewayError && isRefusedAddress(cause))
}

/** The provider's own words are what helps the operator; they are cleaned like those that clients see. */
function saidBy({ detail, message }: GatewayError, { provider }: Deployment): string {
  const secrets = [
    new URL(provider.baseUrl).host,
    ...provider.keys.map(({ credential }) => credential),
    ...Object.values(provider.headers),
  ]
  const text = detail === null || detail === '' ? message : `${message} (${detail})`
  return redactUpstreamText(text.slice(0, MAX_MESSAGE_LENGTH), secrets)
}
