import { expect, it } from 'vitest'
import type { OperationSpec } from '../../../src/shared/api/operation.ts'
import { operation } from '../../../src/shared/api/operation.ts'
import { OPERATIONS } from '../../../src/shared/api/operations/index.ts'

const answer = { status: 204, schema: null } as const
const route = { method: 'GET', path: '/x', tag: 'Operation', summary: 'x', answer } as const

it('says of every operation who may call it: without that, or with a policy that is none, nothing compiles', () => {
  const made: readonly OperationSpec[] = [
    // @ts-expect-error nobody said who may call it
    operation(route),
    // @ts-expect-error no policy of this name
    operation({ ...route, access: 'anybody' }),
    // @ts-expect-error it may not be left open either
    operation({ ...route, access: undefined }),
    operation({ ...route, access: 'platform-admin' }),
  ]
  expect(made).toHaveLength(4)
  for (const [name, { access }] of Object.entries(OPERATIONS)) expect(access, name).toMatch(/^[a-z._-]+$/)
})
