import { expect, it } from 'vitest'
import { systemClock } from '../../../src/shared/runtime/clock.ts'
import { GatewayError } from '../../../src/shared/core/errors.ts'
import { LoginFailures } from '../../../src/control/management/login-failures.ts'
import { LoginThrottle } from '../../../src/control/management/login-throttle.ts'

const MINUTE_MS = 60_000
const PHONE = '+12025550123'
const codeOf = (cause: unknown): string => (cause instanceof GatewayError ? cause.code : String(cause))
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A login that lasts until it is told to end. */
function held(throttle: LoginThrottle, phone: string, began: string[]): { end: () => void; over: Promise<unknown> } {
  let end = (): void => undefined
  const ending = new Promise<void>((resolve) => (end = resolve))
  const over = throttle
    .login(phone, '192.0.2.1', async () => {
      began.push(phone)
      await ending
    })
    .catch(codeOf)
  return { end, over }
}

it('runs two at a time; a place goes to who waits longest, not to who comes just then', async () => {
  const throttle = new LoginThrottle({ clock: systemClock })
  const began: string[] = []
  const logins = ['a', 'b', 'c'].map((phone) => held(throttle, phone, began))
  await turn()
  expect(began).toEqual(['a', 'b'])

  logins[0]?.end()
  await logins[0]?.over
  logins.push(held(throttle, 'newcomer', began))
  await turn()
  expect(began).toEqual(['a', 'b', 'c'])

  for (const login of logins) login.end()
  await Promise.all(logins.map(({ over }) => over))
  expect(began).toEqual(['a', 'b', 'c', 'newcomer'])
})

it('lets no more than a hundred wait, and nobody for long', async () => {
  const throttle = new LoginThrottle({ clock: systemClock, maxWaitMs: 20 })
  const began: string[] = []
  const running = ['a', 'b'].map((phone) => held(throttle, phone, began))
  const waiting = Array.from({ length: 100 }, (_, index) => held(throttle, `waiting ${index}`, began))
  expect(await held(throttle, 'one too many', began).over).toBe('LOGIN_THROTTLED')
  expect(new Set(await Promise.all(waiting.map(({ over }) => over)))).toEqual(new Set(['LOGIN_THROTTLED']))

  for (const { end } of running) end()
  await Promise.all(running.map(({ over }) => over))
  const next = held(throttle, 'next', began)
  next.end()
  expect(await next.over).toBeUndefined()
  expect(began).toEqual(['a', 'b', 'next'])
})

it('lets no more guesses through than a phone has, also when they come at the same time', async () => {
  const throttle = new LoginThrottle({ clock: { ...systemClock, now: () => 0 } })
  let checked = 0
  const guess = (): Promise<unknown> =>
    throttle
      .login(PHONE, '192.0.2.1', async () => {
        checked += 1
        await turn()
        throw new GatewayError('LOGIN_FAILED')
      })
      .catch(codeOf)
  const outcomes = await Promise.all(Array.from({ length: 60 }, guess))
  expect(outcomes.filter((code) => code === 'LOGIN_FAILED')).toHaveLength(checked)
  // Of two that run at the same time the second may be one too many.
  expect(checked).toBeLessThanOrEqual(4)
  expect(await throttle.login(PHONE, '192.0.2.2', () => Promise.resolve('in'))).toBe('in')
  expect(await throttle.login('+12025550124', '192.0.2.1', () => Promise.resolve('in'))).toBe('in')
})

it('waits twice as long after each failure, up to a quarter of an hour, and forgets in an hour', () => {
  let now = 0
  const failures = new LoginFailures({ ...systemClock, now: () => now })
  const waits: number[] = []
  for (let count = 0; count < 16; count++) {
    failures.add(PHONE, '192.0.2.1')
    const wait = failures.waitMs(PHONE, '192.0.2.1')
    waits.push(wait)
    now += wait
    expect(failures.waitMs(PHONE, '192.0.2.1')).toBe(0)
  }
  const seconds = [0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900, 900]
  expect(waits).toEqual(seconds.map((count) => count * 1_000))
  now += 61 * MINUTE_MS
  failures.add(PHONE, '192.0.2.1')
  expect(failures.waitMs(PHONE, '192.0.2.1')).toBe(0)
})

it('goes by phone and address together; a network of IPv6 is one address; who gets in has a clean slate', () => {
  const failures = new LoginFailures({ ...systemClock, now: () => 0 })
  const fail = (address: string): void => {
    for (let count = 0; count < 5; count++) failures.add(PHONE, address)
  }
  fail('192.0.2.1')
  fail('2001:db8:1:2::5')
  expect(failures.waitMs(PHONE, '192.0.2.1')).toBe(4_000)
  expect(failures.waitMs(PHONE, '192.0.2.2')).toBe(0)
  expect(failures.waitMs('+12025550124', '192.0.2.1')).toBe(0)
  expect(failures.waitMs(PHONE, '2001:DB8:1:2:ffff::')).toBe(4_000)
  expect(failures.waitMs(PHONE, '2001:db8:1:3::5')).toBe(0)
  expect(failures.waitMs(PHONE, '::1')).toBe(0)
  failures.clear(PHONE, '192.0.2.1')
  expect(failures.waitMs(PHONE, '192.0.2.1')).toBe(0)
})
