import type { ToolServer } from './tool-calls.ts'

export type AccessRule = ToolServer['access'][number]

export const ROLES = ['owner', 'admin', 'finance', 'employee'] as const
type AccessRole = (typeof ROLES)[number]

/** A rule that is edited; null: it says nothing of this. */
export interface RuleDraft {
  readonly role: AccessRole | null
  readonly enterprise_id: string | null
  readonly department_id: string | null
  readonly key_id: string | null
}

export const EMPTY_RULE: RuleDraft = { role: null, enterprise_id: null, department_id: null, key_id: null }

export const AUDIENCES = ['nobody', 'everyone', 'rules'] as const

/** The access to a server: platform admins alone, everybody, or the callers for whom one of the rules holds. */
export interface AccessDraft {
  readonly audience: (typeof AUDIENCES)[number]
  readonly rules: readonly RuleDraft[]
}

/** Whether the rule is for everybody: it says nothing else. */
export function isForAll(rule: AccessRule): boolean {
  return rule.everyone === true && Object.keys(rule).length === 1
}

export function accessDraftOf(access: readonly AccessRule[]): AccessDraft {
  if (access.length === 0) return { audience: 'nobody', rules: [] }
  if (access.some(isForAll)) return { audience: 'everyone', rules: [] }
  return {
    audience: 'rules',
    rules: access.map(({ role, enterprise_id: enterprise, department_id: department, key_id: key }) => ({
      role: role ?? null,
      enterprise_id: enterprise ?? null,
      department_id: department ?? null,
      key_id: key ?? null,
    })),
  }
}

/** Whether the rule names nobody: it would be for everybody. */
export function isEmptyRule(rule: RuleDraft): boolean {
  return Object.values(rule).every((value) => value === null)
}

/** The fault of a draft; null: it has none. */
export function accessError({ audience, rules }: AccessDraft): 'noRules' | 'emptyRule' | null {
  if (audience !== 'rules') return null
  if (rules.length === 0) return 'noRules'
  return rules.some(isEmptyRule) ? 'emptyRule' : null
}

export function accessOf({ audience, rules }: AccessDraft): AccessRule[] {
  if (audience === 'nobody') return []
  if (audience === 'everyone') return [{ everyone: true }]
  return rules.map(({ role, enterprise_id: enterprise, department_id: department, key_id: key }) => ({
    ...(role === null ? {} : { role }),
    ...(enterprise === null ? {} : { enterprise_id: enterprise }),
    ...(department === null ? {} : { department_id: department }),
    ...(key === null ? {} : { key_id: key }),
  }))
}
