import { useRead } from '../../api/queries.ts'
import { enterpriseIdOf, useEnterprise } from '../../parts/enterprise.ts'
import { useHolderNames } from '../../parts/holder-names.ts'
import type { Scope } from '../../shell/scope.ts'
import { useAccount } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { AuditEntry } from './audit-calls.ts'
import { useFilter } from './filter.ts'
import { named } from './operations.ts'

interface Choice {
  readonly value: string
  readonly label: string
}

interface AuditTexts {
  readonly whatOf: (operation: string) => string
  readonly whoOf: (entry: AuditEntry) => string | null
  readonly targetOf: (entry: AuditEntry) => string | null
  /** Null: the entry is of no enterprise. */
  readonly enterpriseOf: (entry: AuditEntry) => string | null
  /** The people that the filter offers: members of the enterprise; admins of the platform, or users with them. */
  readonly people: readonly Choice[]
  /** Of the platform. */
  readonly enterprises: readonly Choice[]
}

const MOST = 100
const STALE_MS = 60_000

/** Fields by which a person knows an object again, the best first. */
const NAMING = ['name', 'user.name', 'email', 'phone']

/** The name that an object has or had, from what an entry says of its fields. */
function nameAmong(changes: AuditEntry['changes']): string | undefined {
  return NAMING.map((field) => textOf(changes, field)).find((name) => name !== undefined)
}

function textOf(changes: AuditEntry['changes'], wanted: string): string | undefined {
  const change = changes?.find(({ field }) => field === wanted)
  const text = change?.new ?? change?.old
  return typeof text === 'string' && text !== '' ? text : undefined
}

/** Names in place of ids, where they are known. */
export function useAuditTexts(scope: Scope): AuditTexts {
  const t = useWords('audit')
  const common = useWords('common')
  const account = useAccount()
  const own = useEnterprise(scope).data
  const names = useHolderNames(scope)
  const ofEnterprise = { isEnabled: scope.kind === 'enterprise', staleMs: STALE_MS }
  const ofPlatform = { isEnabled: scope.kind === 'platform', staleMs: STALE_MS }
  const params = { id: enterpriseIdOf(scope) }
  const members = useRead('listMembers', { params, query: { limit: MOST } }, ofEnterprise).data?.data ?? []
  const { isOfAll } = useFilter(scope)
  const admins = useRead('adminListUsers', { query: { role: 'admin', limit: MOST } }, ofPlatform).data?.data ?? []
  const users = useRead('adminListUsers', { query: { limit: MOST } }, ofPlatform).data?.data ?? []
  const all = useRead('adminListEnterprises', { query: { limit: MOST } }, ofPlatform).data?.data ?? []
  const choiceOf = ({ id, name }: { readonly id: string; readonly name: string }): Choice => ({
    value: id,
    label: name,
  })
  const people = [...members.map(({ user }) => user), ...(isOfAll ? users : admins)].map(choiceOf)
  const known = [...people, ...admins.map(choiceOf), ...users.map(choiceOf)]
  const enterprises = all.map(({ id, name }) => ({ value: id, label: name }))
  const nameIn = (choices: readonly Choice[], id: string): string | undefined =>
    choices.find(({ value }) => value === id)?.label
  return {
    whatOf: (operation) => {
      const name = named(operation)
      return name === undefined ? operation : t(`operations.${name}`)
    },
    whoOf: ({ user_id: id, role, changes }) => {
      if (id === null) return null
      const name =
        id === account.id
          ? account.name
          : (nameIn(known, id) ?? (textOf(changes, 'user.id') === id ? textOf(changes, 'user.name') : undefined))
      if (name !== undefined) return name
      const knownRole = (['owner', 'admin', 'finance', 'employee'] as const).find((one) => one === role)
      // On the platform the same word is for its own admins.
      return knownRole === undefined || scope.kind === 'platform' ? id : `${common(`roles.${knownRole}`)} (${id})`
    },
    targetOf: (entry) => {
      const id = entry.target_id
      if (id === null) return null
      const name =
        scope.kind === 'platform'
          ? nameIn([...enterprises, ...known], id)
          : own?.id === id
            ? own.name
            : names.member(names.department(id))
      return name === undefined || name === id ? (nameAmong(entry.changes) ?? id) : name
    },
    enterpriseOf: ({ enterprise_id: id }) => (id === null ? null : (nameIn(enterprises, id) ?? id)),
    people,
    enterprises,
  }
}
