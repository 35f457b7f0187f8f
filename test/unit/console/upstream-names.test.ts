import { expect, it } from 'vitest'
import { DIALECTS, PROVIDERS } from '../../../src/console/pages/upstreams/upstream-draft.ts'
import { knownProvider } from '../../../src/shared/config/providers/known.ts'
import { DIALECTS as KNOWN_DIALECTS } from '../../../src/shared/config/schema.ts'

it('the form of an upstream offers only providers that the gateway knows, and all of its protocols', () => {
  expect(PROVIDERS.filter((id) => knownProvider(id) === undefined)).toEqual([])
  expect([...DIALECTS].sort()).toEqual([...KNOWN_DIALECTS].sort())
})
