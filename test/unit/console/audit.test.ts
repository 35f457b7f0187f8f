import { describe, expect, it } from 'vitest'
import { OF_PLATFORM_ADMINS, operationsIn } from '../../../src/console/pages/audit/operations.ts'
import words from '../../../src/console/words/en/audit.json' with { type: 'json' }
import { isChange } from '../../../src/shared/api/operation.ts'
import type { OperationSpec } from '../../../src/shared/api/operation.ts'
import { OPERATIONS } from '../../../src/shared/api/operations/index.ts'

const ADMIN_CHANGES = Object.entries<OperationSpec>(OPERATIONS).flatMap(([name, spec]) =>
  spec.access === 'platform-admin' && (isChange(spec) || spec.bodiesAccess !== undefined) ? [name] : [],
)

/** Each has a row in the audit log; these three are no operations that change something by themselves. */
const IN_THE_LOG = Object.entries<OperationSpec>(OPERATIONS)
  .flatMap(([name, spec]) => (isChange(spec) || spec.bodiesAccess !== undefined ? [name] : []))
  .concat('oidcCallback', 'forgotPassword', 'finishToolConnection')

describe('the audit log of the platform', () => {
  it('has a text for whatever can be in it', () => {
    expect(Object.keys(words.operations).sort()).toEqual(IN_THE_LOG.sort())
  })

  it('has a text for each change that only admins of the platform may make, and no other', () => {
    expect([...OF_PLATFORM_ADMINS].sort()).toEqual([...ADMIN_CHANGES].sort())
  })

  it('offers what can be in it', () => {
    const scope = { kind: 'platform' } as const
    expect(operationsIn(scope, false)).toBe(OF_PLATFORM_ADMINS)
    expect([...operationsIn(scope, true)].sort()).toEqual(Object.keys(words.operations).sort())
  })
})
