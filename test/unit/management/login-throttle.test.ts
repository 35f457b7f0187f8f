import { expect, it } from 'vitest'
import { GatewayError } from '../../../src/core/errors.ts'
import { LoginThrottle } from '../../../src/management/login-throttle.ts'

const codeOf = (cause: unknown): string => (cause instanceof GatewayError ? cause.code : String(cause))
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A login that lasts until it is told to end. */
function held(throttle: LoginThrottle, subject: string, began: string[]): { end: () => void; over: Promise<unknown> } {
  let end = (): void => undefined
  const ending = new Promise<void>((resolve) => (end = resolve))
  const over = throttle
    .run([subject], async () => {
      began.push(subject)
      await ending
    })
    .catch(codeOf)
  return { end, over }
}

it('runs two at a time; a place goes to who waits longest, not to who comes just then', async () => {
  const throttle = new LoginThrottle()
  const began: string[] = []
  const logins = ['a', 'b', 'c'].map((subject) => held(throttle, subject, began))
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
  const throttle = new LoginThrottle({ maxWaitMs: 20 })
  const began: string[] = []
  const running = ['a', 'b'].map((subject) => held(throttle, subject, began))
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

it('lets no more guesses through than a subject has, also when they come at the same time', async () => {
  const throttle = new LoginThrottle()
  let checked = 0
  const guess = (): Promise<unknown> =>
    throttle
      .run(['phone'], async () => {
        checked += 1
        await turn()
        throw new GatewayError('LOGIN_FAILED')
      })
      .catch(codeOf)
  const outcomes = await Promise.all(Array.from({ length: 60 }, guess))
  expect(outcomes.filter((code) => code === 'LOGIN_FAILED')).toHaveLength(checked)
  // Of two that run at the same time the second may be one too many.
  expect(checked).toBeLessThanOrEqual(11)
  expect(await throttle.run(['another'], () => Promise.resolve('in'))).toBe('in')
})
