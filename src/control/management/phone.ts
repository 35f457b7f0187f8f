import { parsePhoneNumberFromString } from 'libphonenumber-js/min'
import { GatewayError } from '../../shared/core/errors.ts'

/** Returns the number in E.164. It must have its country code. Throws INVALID_FIELD. */
export function normalisePhone(text: string): string {
  const phone = parsePhoneNumberFromString(text)
  if (phone === undefined) {
    throw new GatewayError('INVALID_FIELD', {
      message: 'phone must be a phone number with its country code, like +12025550100.',
      param: '/phone',
    })
  }
  return phone.number
}
