import { createHash } from 'node:crypto'
import type { HolderLimits, KeyLimits } from './key-limits.ts'
import { NO_MODEL_NAMES } from './model-names.ts'
import type { ModelNames } from './model-names.ts'

/** The budget of a calendar month; null: no limit. */
export interface MonthlyBudget {
  /** Micro-units of the currency. */
  readonly moneyMicro: number | null
  readonly tokens: number | null
}

/** A budget that requests for some models have to fit under as well. */
export interface ModelBudget extends MonthlyBudget {
  /** Names of models and of groups of models. */
  readonly models: readonly string[]
}

export type BudgetOwner = 'key' | 'member' | 'department' | 'enterprise' | 'wallet'

export const BUDGET_MEASURES = ['money', 'tokens'] as const
export type BudgetMeasure = (typeof BUDGET_MEASURES)[number]

/** A limit that applies to a key. A wallet has no months: its limit is all that was ever paid in. */
export interface BudgetLimit {
  readonly owner: BudgetOwner
  readonly id: string
  readonly measure: BudgetMeasure
  readonly limit: number
}

/** A limit that applies to the requests of a key for some models. */
export interface ModelBudgetLimit extends BudgetLimit {
  readonly models: readonly string[]
}

/** The owners of budgets that pay for a request. */
export interface Spender {
  readonly keyId: string | null
  readonly memberId: string | null
  readonly departmentId: string | null
  readonly enterpriseId: string | null
}

/** All enterprises, departments and members, with the data that budgets depend on. */
export interface Tenants {
  readonly enterprises: ReadonlyMap<string, Enterprise>
  readonly departments: ReadonlyMap<string, Holder & { readonly parentId: string | null }>
  readonly members: ReadonlyMap<string, Holder & { readonly departmentId: string | null }>
  /** By {@link ownerName}: the budgets for models of those who have some. */
  readonly modelBudgets: ReadonlyMap<string, readonly ModelBudget[]>
  /** Tells which models these budgets are for. */
  readonly modelNames: ModelNames
}

/** A department or a member. */
interface Holder {
  readonly budget: MonthlyBudget
  /** Over all of its keys; absent: none. */
  readonly limits?: KeyLimits
}

interface Enterprise {
  /** IANA name. */
  readonly timeZone: string
  readonly budget: MonthlyBudget
  /** All that was ever paid into its wallet; null: its balance may be negative. */
  readonly creditedMicro: number | null
}

export const NO_TENANTS: Tenants = {
  enterprises: new Map(),
  departments: new Map(),
  members: new Map(),
  modelBudgets: new Map(),
  modelNames: NO_MODEL_NAMES,
}
export const NO_BUDGET: MonthlyBudget = { moneyMicro: null, tokens: null }

/** Budgets follow the calendar of the enterprise; those of keys without one follow UTC. */
export function timeZoneOf({ enterpriseId }: Pick<Spender, 'enterpriseId'>, tenants: Tenants): string {
  return (enterpriseId === null ? undefined : tenants.enterprises.get(enterpriseId)?.timeZone) ?? 'UTC'
}

/**
 * The owners whose budgets a request counts against: the key, its member, the department of the key (else of the member) and all above it,
 * the enterprise and its wallet.
 */
export function ownersOf(spender: Spender, tenants: Tenants): Array<readonly [owner: BudgetOwner, id: string]> {
  const { keyId, memberId, enterpriseId } = spender
  const owners: Array<readonly [BudgetOwner, string]> = []
  if (keyId !== null) owners.push(['key', keyId])
  if (memberId !== null) owners.push(['member', memberId])
  const seen = new Set<string>()
  let id = spender.departmentId ?? (memberId === null ? null : (tenants.members.get(memberId)?.departmentId ?? null))
  while (id !== null && !seen.has(id)) {
    seen.add(id)
    owners.push(['department', id])
    id = tenants.departments.get(id)?.parentId ?? null
  }
  if (enterpriseId !== null) owners.push(['enterprise', enterpriseId], ['wallet', enterpriseId])
  return owners
}

/** The limits that apply to a key. */
export function limitsOf(spender: Spender, own: MonthlyBudget, tenants: Tenants): BudgetLimit[] {
  return ownersOf(spender, tenants).flatMap(([owner, id]) => {
    const { moneyMicro, tokens } = budgetOf(owner, id, own, tenants)
    const limits: BudgetLimit[] = []
    if (moneyMicro !== null) limits.push({ owner, id, measure: 'money', limit: moneyMicro })
    if (tokens !== null) limits.push({ owner, id, measure: 'tokens', limit: tokens })
    return limits
  })
}

/** The limits that apply to the requests of a key for some models, of all who pay for it. */
export function modelLimitsOf(spender: Spender, tenants: Tenants): ModelBudgetLimit[] {
  if (tenants.modelBudgets.size === 0) return []
  return ownersOf(spender, tenants).flatMap(([owner, id]) =>
    (tenants.modelBudgets.get(ownerName(owner, id)) ?? []).flatMap(({ models, moneyMicro, tokens }) => {
      const limits: ModelBudgetLimit[] = []
      if (moneyMicro !== null) limits.push({ owner, id, models, measure: 'money', limit: moneyMicro })
      if (tokens !== null) limits.push({ owner, id, models, measure: 'tokens', limit: tokens })
      return limits
    }),
  )
}

/** The limits of the member and of the departments of a key, over all keys of each. */
export function holderLimitsOf(spender: Spender, tenants: Tenants): HolderLimits[] {
  return ownersOf(spender, tenants).flatMap(([owner, id]) => {
    if (owner !== 'member' && owner !== 'department') return []
    const limits = (owner === 'member' ? tenants.members : tenants.departments).get(id)?.limits
    return limits === undefined ? [] : [{ owner, id, limits }]
  })
}

/** The budget of one owner. `own` is that of the key. */
export function budgetOf(owner: BudgetOwner, id: string, own: MonthlyBudget, tenants: Tenants): MonthlyBudget {
  switch (owner) {
    case 'key':
      return own
    case 'member':
      return tenants.members.get(id)?.budget ?? NO_BUDGET
    case 'department':
      return tenants.departments.get(id)?.budget ?? NO_BUDGET
    case 'enterprise':
      return tenants.enterprises.get(id)?.budget ?? NO_BUDGET
    case 'wallet':
      return { moneyMicro: tenants.enterprises.get(id)?.creditedMicro ?? null, tokens: null }
  }
}

/** The name under which the database counts the use of a budget. */
export function budgetName(owner: BudgetOwner, id: string, month: string): string {
  return owner === 'wallet' ? `wallet:${id}` : `${owner}:${id}:${month}`
}

/** The key of an owner in {@link Tenants}. */
export function ownerName(owner: BudgetOwner, id: string): string {
  return `${owner}:${id}`
}

/** As {@link budgetName}, of a budget for some models. The order of their names does not matter. */
export function modelBudgetName(models: readonly string[], owner: BudgetOwner, id: string, month: string): string {
  const digest = createHash('sha256').update(JSON.stringify(models.toSorted())).digest('hex')
  return `models:${digest.slice(0, 32)}:${budgetName(owner, id, month)}`
}

/** The name of the allowance by which fronts share a budget. */
export function budgetAllowance(measure: BudgetMeasure, name: string): string {
  return `budget:${measure}:${name}`
}

/** The allowances of budgets, by all measures. */
export function allowancesOf(names: readonly string[]): string[] {
  return names.flatMap((name) => BUDGET_MEASURES.map((measure) => budgetAllowance(measure, name)))
}

/** The budget behind an allowance; null for other allowances. */
export function budgetOfAllowance(allowance: string): { measure: BudgetMeasure; name: string } | null {
  const match = /^budget:(money|tokens):(.*)$/s.exec(allowance)
  return match === null ? null : { measure: match[1] as BudgetMeasure, name: match[2] as string }
}
