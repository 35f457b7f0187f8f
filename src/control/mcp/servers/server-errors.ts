import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } from '@modelcontextprotocol/client'
import { GatewayError } from '../../../shared/core/errors.ts'
import type { ErrorCode } from '../../../shared/core/errors.ts'
import type { ToolServer } from '../../../shared/core/tool-server.ts'

/** The code of an error that stands for a result that is too large. */
export const TOO_LARGE = -32_050

const MAX_MESSAGE = 1_000
/** Shorter values are no secrets, and stand in many texts. */
const MIN_SECRET = 6
const MAX_CAUSES = 8

/**
 * The error for a call of a server that failed. Texts of HTTP answers are left out: whoever chose the address must not read them.
 * @param tokens what the texts of the server must not repeat, besides its headers
 */
export function serverError(cause: unknown, server: ToolServer, tokens: readonly string[] = []): GatewayError {
  const own = gatewayErrorIn(cause)
  if (own !== null) return own
  if (ProtocolError.isInstance(cause) && cause.code === TOO_LARGE) {
    return error('UPSTREAM_BODY_TOO_LARGE', 'gave a result that is too large', cause)
  }
  if (ProtocolError.isInstance(cause)) {
    const message = `The tool server refused the call: ${withoutSecrets(cause.message, server, tokens).slice(0, MAX_MESSAGE)}`
    return new GatewayError('UPSTREAM_INVALID_REQUEST', { message, cause })
  }
  if (UnauthorizedError.isInstance(cause)) return error('UPSTREAM_AUTH', 'does not take our credential', cause)
  if (SdkHttpError.isInstance(cause)) return httpError(cause)
  if (!SdkError.isInstance(cause)) return error('UPSTREAM_INVALID_ANSWER', 'gave an answer that is not valid', cause)
  switch (cause.code) {
    case SdkErrorCode.RequestTimeout:
      return error('UPSTREAM_TIMEOUT', 'did not answer in time', cause)
    case SdkErrorCode.ConnectionClosed:
    case SdkErrorCode.NotConnected:
      return error('UPSTREAM_TRUNCATED', 'closed the connection', cause)
    default:
      return error('UPSTREAM_INVALID_ANSWER', 'gave an answer that is not valid', cause)
  }
}

/** Keeps a fault of ours apart from those of the server, for whose calls the work is done: it is INTERNAL, also among the causes. */
export async function asOwnFault<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (cause) {
    throw GatewayError.from(cause)
  }
}

/** Failures of the server itself. Callers can bring about all others, such as results that are late or too large. */
const SERVER_FAILURES: ReadonlySet<ErrorCode> = new Set([
  'UPSTREAM_UNREACHABLE',
  'UPSTREAM_TRUNCATED',
  'UPSTREAM_AUTH',
  'UPSTREAM_ERROR',
  'UPSTREAM_RATE_LIMITED',
])

/** Whether the failure is one of the server, for which calls may be kept from it: of all callers. */
export function isServerFailure({ code }: GatewayError): boolean {
  return SERVER_FAILURES.has(code)
}

/** Whether a program has sent a message beyond the bound: its transport then closes, and has no error class for it. */
export function isTooLarge({ message }: Error): boolean {
  return message.startsWith('ReadBuffer exceeded maximum size')
}

/** Whether the server has forgotten the session: a new connection helps. */
export function isLostSession(cause: unknown): boolean {
  return SdkHttpError.isInstance(cause) && cause.status === 404
}

function httpError(cause: SdkHttpError): GatewayError {
  const { status } = cause
  if (status === 401 || status === 403) return error('UPSTREAM_AUTH', 'does not take our credential', cause)
  if (status === 429) return error('UPSTREAM_RATE_LIMITED', 'is rate limiting', cause)
  return error('UPSTREAM_ERROR', `answered with status ${status}`, cause)
}

function error(code: ErrorCode, what: string, cause: unknown): GatewayError {
  return new GatewayError(code, { message: `The tool server ${what}.`, cause })
}

/** The gateway's own error among the causes, with a text for those who call the tool. */
export function gatewayErrorIn(cause: unknown): GatewayError | null {
  let one = cause
  for (let depth = 0; depth < MAX_CAUSES; depth++) {
    if (one instanceof GatewayError) {
      if (one.code === 'UPSTREAM_UNREACHABLE' && one.cause !== undefined)
        return error(one.code, 'cannot be reached', one)
      return one
    }
    if (!(one instanceof Error)) return null
    one = one.cause
  }
  return null
}

function withoutSecrets(text: string, { headers, place }: ToolServer, tokens: readonly string[]): string {
  const values = [...tokens, ...Object.values(headers ?? {}), ...('env' in place ? Object.values(place.env) : [])]
  const secrets = values.flatMap((value) => [value, ...value.split(' ')]).filter(({ length }) => length >= MIN_SECRET)
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '…'), text)
}
