import { expect, it } from 'vitest'
import { SupervisedChild } from '../../../src/supervisor/supervisor.ts'
import { createLogger } from '../../../src/shared/telemetry/logger.ts'
import { eventually } from '../../support/eventually.ts'

/** More than the operating system lets a process begin with. */
const TOO_LARGE = 'x'.repeat(16 * 1024 * 1024)

it('goes on when a process cannot be started again: it tries later', async () => {
  let starts = 0
  const plan = {
    kind: 'simulator',
    index: 0,
    setup: null,
    env: (): Record<string, string> => {
      starts += 1
      return starts === 2 ? { TOO_LARGE } : {}
    },
  } as const
  // Its program is not there: the process ends at once each time.
  const child = new SupervisedChild(plan, createLogger({ level: 'silent', file: null, name: 'test' }), () => undefined)
  void child.start()
  await eventually(() => {
    expect(starts).toBeGreaterThanOrEqual(3)
  })
  await child.stop(1_000, 'stop')
})
