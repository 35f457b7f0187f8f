import { describe, expect, it } from 'vitest'
import { accessDraftOf, accessError, accessOf, EMPTY_RULE } from '../../../src/console/pages/tools/access-draft.ts'
import type { AccessRule } from '../../../src/console/pages/tools/access-draft.ts'

describe('the access of a tool server that is edited', () => {
  it.each<{ access: AccessRule[] }>([
    { access: [] },
    { access: [{ everyone: true }] },
    { access: [{ role: 'owner' }, { enterprise_id: 'ent_1', department_id: 'dep_1' }, { key_id: 'key_1' }] },
    { access: [{ role: 'finance', enterprise_id: 'ent_1', key_id: 'key_1' }] },
  ])('comes back as it was: $access', ({ access }) => {
    const draft = accessDraftOf(access)
    expect(accessError(draft)).toBeNull()
    expect(accessOf(draft)).toEqual(access)
  })

  it('keeps what narrows a rule for everybody, and drops the word', () => {
    expect(accessOf(accessDraftOf([{ everyone: true, role: 'admin' }]))).toEqual([{ role: 'admin' }])
    expect(accessOf(accessDraftOf([{ role: 'admin' }, { everyone: true }]))).toEqual([{ everyone: true }])
  })

  it('is refused without rules, and with a rule that names nobody: it would be for all', () => {
    expect(accessError({ audience: 'rules', rules: [] })).toBe('noRules')
    expect(accessError({ audience: 'rules', rules: [{ ...EMPTY_RULE, role: 'owner' }, EMPTY_RULE] })).toBe('emptyRule')
    expect(accessError({ audience: 'nobody', rules: [EMPTY_RULE] })).toBeNull()
  })
})
