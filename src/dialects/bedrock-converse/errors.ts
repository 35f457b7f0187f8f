import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { AwsFrame } from '../../shared/wire/aws-event-stream.ts'
import { failureOf, readFailureBody } from '../common/failure.ts'
import { parseRange } from '../common/event.ts'
import { textOr } from '../common/fields.ts'
import { valueAt } from '../common/json-value.ts'

/** The HTTP status that an exception within a stream would have had. The stream itself has status 200. */
export const EXCEPTION_STATUS: Readonly<Record<string, number>> = {
  validationException: 400,
  modelTimeoutException: 408,
  modelStreamErrorException: 424,
  throttlingException: 429,
  internalServerException: 500,
  serviceUnavailableException: 503,
}

/** The failure in a frame that is not an event. */
export function failureOfFrame(frame: AwsFrame): UpstreamFailure {
  if (frame.messageType === 'error') return { message: frame.message, type: frame.type }
  const payload = parseRange(frame.payload, 0, frame.payload.length)
  const original = textOr(valueAt(payload, 'originalMessage'), '')
  const { message } = failureOf(payload)
  return { message: original === '' || original === message ? message : `${message}: ${original}`, type: frame.type }
}

/** The header with the type of an error. */
export const ERROR_TYPE_HEADER = 'x-amzn-errortype'

/** Reads an answer that is not a 200. @param errorType the value of `ERROR_TYPE_HEADER`; undefined without it */
export function readFailure(body: Buffer, errorType: string | undefined): UpstreamFailure {
  const failure = readFailureBody(body)
  // Example: `ThrottlingException:http://internal.amazon.com/coral/com.amazon.bedrock/`
  const type = errorType?.split(':', 1)[0] ?? ''
  return type === '' ? { ...failure, type: failure.type.replace(/^.*#/, '') } : { ...failure, type }
}
