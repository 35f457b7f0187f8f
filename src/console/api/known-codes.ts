const KNOWN = [
  'CODE_INVALID',
  'BUDGET_EXHAUSTED',
  'CONCURRENCY_EXCEEDED',
  'CONTROL_UNAVAILABLE',
  'INTERNAL',
  'INVALID_FIELD',
  'LOGIN_FAILED',
  'LOGIN_THROTTLED',
  'NOT_FOUND',
  'PRECONDITION_FAILED',
  'ROLE_DENIED',
  'SIGN_IN_FAILED',
] as const

export type KnownCode = (typeof KNOWN)[number]

/** The code, where failures with it have one heading in the words of the console. Others have the gateway's message: conflicts have many reasons. */
export function knownCode(code: string | null): KnownCode | null {
  return KNOWN.find((one) => one === code) ?? null
}
