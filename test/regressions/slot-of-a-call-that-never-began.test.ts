// Symptom: an upstream key lost a slot for good, one for each call that could not even be sent.
// Cause: building or sending the request threw before the attempt was listening; nobody gave the slot back.
// Fix: what is thrown there fails the attempt, which releases its slot like any other end.
import { expect, it } from 'vitest'
import { systemClock } from '../../src/shared/runtime/clock.ts'
import { DeadlineClock } from '../../src/shared/runtime/deadlines.ts'
import type { AttemptOutcome, Slot } from '../../src/shared/core/deployment.ts'
import { dialectOf } from '../../src/dialects/codecs.ts'
import { Attempt } from '../../src/front/gateway/attempt.ts'
import { BODY, makeContext } from '../unit/gateway/context.ts'
import { noCredentials } from '../support/no-credentials.ts'
import { noServices } from '../support/no-services.ts'
import { noTranslator } from '../support/no-translator.ts'

it('gives the slot back and fails the attempt when the call cannot be sent', async () => {
  const released: AttemptOutcome[] = []
  const slot: Slot = {
    deployment: {
      provider: {
        id: 'p',
        name: 'p',
        dialect: 'openai-chat',
        baseUrl: 'https://provider.test/v1',
        auth: 'bearer',
        headers: {},
        keys: [],
        timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1 },
        billsAfterDisconnect: false,
      },
      key: { id: 'k', name: 'k', credential: 'secret', enabled: true, weight: 1, maxConcurrency: 1 },
      upstreamModel: 'm',
      weight: 1,
    },
    choice: { how: 'only', score: null, waitUs: 0, others: [] },
    answered: () => undefined,
    release: (outcome) => released.push(outcome),
  }
  const attempt = new Attempt(makeContext().ctx, BODY, slot, dialectOf('openai-chat'), {
    upstream: {
      send: () => {
        throw new Error('it cannot be sent')
      },
      close: () => Promise.resolve(),
    },
    clock: systemClock,
    deadlines: new DeadlineClock(systemClock),
    translator: noTranslator,
    credentials: noCredentials,
    services: noServices,
    readAnswer: () => ({ usage: null, observedTextBytes: 0, failure: null, body: null }),
    maxAnswerBytes: 1,
    maxAttempts: 3,
    vendor: 'anthropic',
  })
  const result = await attempt.run()
  expect(result).toMatchObject({ kind: 'failed', error: { code: 'INTERNAL' } })
  expect(released).toHaveLength(1)
})
