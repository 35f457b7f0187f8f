import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { AwsFrame } from '../../shared/wire/aws-event-stream.ts'
import { failureOf, readFailureBody } from '../failure.ts'
import { parseRange } from '../event.ts'
import { textOr } from '../fields.ts'
import { valueAt } from '../json-value.ts'

/** The HTTP status that an exception within a stream would have had; the HTTP status of the stream is 200. */
export const EXCEPTION_STATUS: Readonly<Record<string, number>> = {
  validationException: 400,
  modelTimeoutException: 408,
  modelStreamErrorException: 424,
  throttlingException: 429,
  internalServerException: 500,
  serviceUnavailableException: 503,
}

/** What a frame reports that is no event. */
export function failureOfFrame(frame: AwsFrame): UpstreamFailure {
  if (frame.messageType === 'error') return { message: frame.message, type: frame.type }
  const payload = parseRange(frame.payload, 0, frame.payload.length)
  const original = textOr(valueAt(payload, 'originalMessage'), '')
  const { message } = failureOf(payload)
  return { message: original === '' || original === message ? message : `${message}: ${original}`, type: frame.type }
}

/** The header that holds the type of an error. */
export const ERROR_TYPE_HEADER = 'x-amzn-errortype'

/** An answer that is not a 200. @param errorType what the header says; undefined: nothing */
export function readFailure(body: Buffer, errorType: string | undefined): UpstreamFailure {
  const failure = readFailureBody(body)
  // `ThrottlingException:http://internal.amazon.com/coral/com.amazon.bedrock/`
  const type = errorType?.split(':', 1)[0] ?? ''
  return type === '' ? { ...failure, type: failure.type.replace(/^.*#/, '') } : { ...failure, type }
}
