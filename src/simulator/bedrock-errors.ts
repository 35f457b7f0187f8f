import { writeAwsFrame } from '../shared/wire/aws-event-stream.ts'
import type { ErrorContext } from './wire.ts'

interface ErrorRow {
  readonly type: string
  readonly message: (context: ErrorContext) => string
}

const ROWS: Readonly<Record<number, ErrorRow>> = {
  400: { type: 'ValidationException', message: () => 'The provided request is not valid' },
  403: { type: 'UnrecognizedClientException', message: () => 'The security token included in the request is invalid.' },
  404: {
    type: 'ResourceNotFoundException',
    message: () => 'This model version has reached the end of its life. Please refer to the documentation.',
  },
  408: { type: 'ModelTimeoutException', message: () => 'Model request timed out.' },
  424: { type: 'ModelErrorException', message: () => 'The system encountered an unexpected error during processing.' },
  429: { type: 'ThrottlingException', message: () => 'Too many requests, please wait before trying again.' },
  500: { type: 'InternalServerException', message: () => 'The system encountered an unexpected error.' },
  503: { type: 'ServiceUnavailableException', message: () => 'Bedrock is unable to process your request.' },
}
const OTHER_CLIENT_ERROR: ErrorRow = { type: 'ValidationException', message: () => 'The request is not valid' }
const OTHER_SERVER_ERROR: ErrorRow = { type: 'InternalServerException', message: () => 'Internal failure' }

export function bedrockErrorBody(status: number, context: ErrorContext): string {
  return JSON.stringify({ message: context.message ?? rowOf(status).message(context) })
}

/** Only a header has the type of the error. `retry-after` is sent only when `context` has it: the service sends none. */
export function bedrockErrorHeaders(status: number, { retryAfter }: ErrorContext): string {
  const type = `x-amzn-errortype: ${rowOf(status).type}:http://internal.amazon.com/coral/com.amazon.bedrock/\r\n`
  return retryAfter === undefined || retryAfter === null ? type : `${type}retry-after: ${retryAfter}\r\n`
}

/** The frame of an exception as a string with one character for each byte. */
export function bedrockException(type: string, message: string): string {
  const headers = { ':exception-type': type, ':content-type': 'application/json', ':message-type': 'exception' }
  return writeAwsFrame(headers, JSON.stringify({ message })).toString('latin1')
}

function rowOf(status: number): ErrorRow {
  return ROWS[status] ?? (status < 500 ? OTHER_CLIENT_ERROR : OTHER_SERVER_ERROR)
}
