import type { Deployment } from '../../shared/core/deployment.ts'
import type { BodyEdits, Dialect } from '../../shared/core/dialect.ts'
import type { RequestBody } from '../../shared/core/request-body.ts'
import type { RequestContext } from '../../shared/core/request-context.ts'
import type { ServiceAnswerRules } from '../../dialects/services/codec.ts'
import type { AnswerTranslation } from '../../dialects/translate.ts'
import { takesAsItIs } from './service-translator.ts'
import type { ServiceRequest, ServiceTranslator } from './service-translator.ts'
import { needsTranslation } from './translator.ts'
import type { TranslatedCall, Translator } from './translator.ts'
import { betasOf } from './upstream-request.ts'

export interface CallTranslators {
  readonly translator: Translator
  readonly services: ServiceTranslator
  /** The vendor in header names of the messages protocol, such as `<vendor>-version`. */
  readonly vendor: string
}

/** A request in the protocol of its upstream, and how to read the answer. */
export interface PreparedCall {
  /** One body, or several when the service takes fewer inputs per call than the request has. */
  readonly bodies: readonly Buffer[]
  readonly dropped: readonly string[]
  /** `translation` and `reading` are both null when the answer needs no translation. */
  readonly translation: AnswerTranslation | null
  readonly reading: ServiceAnswerRules | null
}

const NOTHING: readonly string[] = []

/** Throws, or rejects with, the errors of translation. Returns a promise only when the worker pool translates. */
export function prepareCall(
  ctx: RequestContext,
  body: RequestBody,
  deployment: Deployment,
  dialect: Dialect,
  { translator, services, vendor }: CallTranslators,
): PreparedCall | Promise<PreparedCall> {
  const { endpoint } = ctx
  const { service } = deployment
  if (service !== undefined && !takesAsItIs(service, endpoint, body)) {
    const asked = services.request(ctx, body, deployment, service)
    return asked instanceof Promise ? asked.then(ofService) : ofService(asked)
  }
  if (needsTranslation(endpoint, deployment.provider)) {
    const betas = betasOf(endpoint, ctx.exchange.request, vendor)
    const translated = translator.request(ctx, body, deployment, betas)
    return translated instanceof Promise ? translated.then(ofTranslation) : ofTranslation(translated)
  }
  const edits = editsOf(deployment, body.stream)
  const dropped = dialect.leftOut?.(body, edits) ?? NOTHING
  return { bodies: [dialect.prepareBody(body, edits)], dropped, translation: null, reading: null }
}

function ofService({ bodies, dropped, reading }: ServiceRequest): PreparedCall {
  return { bodies, dropped, translation: null, reading }
}

function ofTranslation({ body, dropped, answer }: TranslatedCall): PreparedCall {
  return { bodies: [body], dropped, translation: answer, reading: null }
}

function editsOf({ target, upstreamModel }: Deployment, stream: boolean): BodyEdits {
  return target === undefined ? { model: upstreamModel, stream } : { model: upstreamModel, stream, quirks: target }
}
