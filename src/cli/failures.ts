import { CommanderError } from 'commander'
import { ApiError } from '../client/errors.ts'
import { UsageError } from '../shared/config/config-error.ts'
import { EXIT } from '../shared/core/exit-codes.ts'
import { GatewayError } from '../shared/core/errors.ts'
import type { ExitCode } from './command.ts'
import type { Output } from './output.ts'

/** Prints why a command failed, as a line or as JSON, and returns the exit code. */
export function failed(output: Output, cause: unknown): ExitCode {
  const isUsage = cause instanceof UsageError || cause instanceof CommanderError
  const message = messageOf(cause)
  const param = cause instanceof GatewayError || cause instanceof ApiError ? cause.param : null
  output.failure(param === null || message.includes(param.slice(1)) ? message : `${param}: ${message}`, {
    ...(param === null ? {} : { param }),
    ...(cause instanceof ApiError ? { code: cause.code, status: cause.statusCode, request_id: cause.requestId } : {}),
  })
  return isUsage ? EXIT.usage : EXIT.failure
}

function messageOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  // Without a command, the message of commander is no text for people.
  if (cause instanceof CommanderError && cause.code === 'commander.help')
    return 'a command is missing: see sluice --help'
  return cause instanceof CommanderError ? cause.message.replace(/^error: /, '') : cause.message
}
