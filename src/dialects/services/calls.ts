import type { BufferedAnswer } from '../../shared/core/dialect.ts'
import { asObject } from '../common/json-value.ts'
import type { BuiltCalls, ServiceTarget, ServiceAnswerRules } from './codec.ts'
import { serviceCodec } from './codecs.ts'

export type ServiceCalls = Omit<BuiltCalls, 'bodies'> & { readonly bodies: readonly Buffer[] }

/** Builds the bodies of all calls for a request. `bytes` have passed validation. Throws UNSUPPORTED_FIELD. */
export function buildCalls(bytes: Buffer, ask: ServiceTarget): ServiceCalls {
  const request = asObject(JSON.parse(bytes.toString('utf8'))) ?? {}
  const { bodies, ...calls } = serviceCodec(ask.protocol).build(request, ask)
  return { ...calls, bodies: bodies.map((body) => Buffer.from(JSON.stringify(body))) }
}

/**
 * Builds the client's answer. Throws SyntaxError when the answers are not JSON.
 * @param bytes one answer, or the array of all answers when there were several calls
 */
export function readCalls(bytes: Buffer, reading: ServiceAnswerRules): BufferedAnswer {
  const value: unknown = JSON.parse(bytes.toString('utf8'))
  const answers = reading.sizes.length > 1 && Array.isArray(value) ? (value as unknown[]) : [value]
  return serviceCodec(reading.protocol).read(answers, reading)
}
