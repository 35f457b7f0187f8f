import { GatewayError } from '../../shared/core/errors.ts'

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/

/** Checks the `<vendor>-version` header of the messages paths; throws MISSING_VERSION or INVALID_VERSION. */
export function validateVersionHeader(value: string | undefined): void {
  if (value === undefined || value === '') throw new GatewayError('MISSING_VERSION')
  const parts = DATE.exec(value)
  if (parts === null) throw new GatewayError('INVALID_VERSION')
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])]
  const date = new Date(Date.UTC(year, month - 1, day))
  // A day that does not exist rolls over into the next month.
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) throw new GatewayError('INVALID_VERSION')
}
