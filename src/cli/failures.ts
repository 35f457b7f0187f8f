import { CommanderError } from 'commander'
import { ApiError } from '../client/errors.ts'
import { UsageError } from '../shared/config/config-error.ts'
import { EXIT } from '../shared/core/exit-codes.ts'
import { GatewayError } from '../shared/core/errors.ts'
import type { ExitCode } from './command.ts'
import type { Output } from './output.ts'

/** Says why a command failed, in a line or as JSON, and gives its exit code. */
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
  // With no command commander has shown its help, and says no more.
  if (cause instanceof CommanderError && cause.code === 'commander.help') return 'which command? See sluice --help'
  return cause instanceof CommanderError ? cause.message.replace(/^error: /, '') : cause.message
}
