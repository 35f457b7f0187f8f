import { expect, it } from 'vitest'
import {
  digestOfRecoveryCode,
  enrolment,
  newRecoveryCodes,
  newTotpSecret,
  stepOf,
} from '../../../src/control/management/totp.ts'

/** The key of RFC 6238, appendix B. Its codes have eight digits; shorter ones are their last six. */
const KEY = Buffer.from('12345678901234567890')

it.each([
  [59, '287082', 1],
  [1_111_111_109, '081804', 37_037_036],
  [1_111_111_111, '050471', 37_037_037],
  [1_234_567_890, '005924', 41_152_263],
  [2_000_000_000, '279037', 66_666_666],
  [20_000_000_000, '353130', 666_666_666],
])('knows the codes of RFC 6238: at %d s %s', (seconds, code, step) => {
  expect(stepOf(KEY, code, seconds * 1000)).toBe(step)
  // Clocks may differ by one step. The step is that of the code, not that of the clock.
  expect(stepOf(KEY, code, (seconds + 30) * 1000)).toBe(step)
  expect(stepOf(KEY, code, (seconds - 30) * 1000)).toBe(step)
  expect(stepOf(KEY, code, (seconds + 90) * 1000)).toBeNull()
})

it.each(['', '28708', '2870820', '28708a', '２８７０８２', '-87082'])('takes "%s" for no code', (code) => {
  expect(stepOf(KEY, code, 59_000)).toBeNull()
})

it('describes a secret for authenticators', () => {
  const { secret, uri } = enrolment(KEY, '+12025550100')
  expect(secret).toBe('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ')
  expect(uri).toBe(
    'otpauth://totp/Sluice:%2B12025550100?issuer=Sluice&secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&algorithm=SHA1&digits=6&period=30',
  )
  expect(newTotpSecret()).toHaveLength(20)
})

it('makes recovery codes that differ, and stores them under a key', () => {
  const codes = newRecoveryCodes()
  expect(new Set(codes).size).toBe(10)
  const [code = ''] = codes
  const digest = digestOfRecoveryCode(code, KEY)
  expect(digest).toMatch(/^[0-9a-f]{64}$/)
  expect(digestOfRecoveryCode(code.toUpperCase().replaceAll('-', ''), KEY)).toBe(digest)
  expect(digestOfRecoveryCode(code, Buffer.from('another'))).not.toBe(digest)
  expect(digestOfRecoveryCode('287082', KEY)).toBeNull()
})
