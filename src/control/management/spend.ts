import type { Static } from 'typebox'
import type { Spend } from '../../shared/api/spend.ts'
import { mayDo } from '../../shared/api/roles.ts'
import {
  budgetAllowance,
  budgetName,
  budgetOf,
  NO_BUDGET,
  NO_TENANTS,
  ownersOf,
  timeZoneOf,
} from '../../shared/core/budget.ts'
import type { BudgetOwner, MonthlyBudget, Spender, Tenants } from '../../shared/core/budget.ts'
import { monthAt } from '../../shared/core/month.ts'
import { sumBudgetUse } from '../store/budget-use.ts'
import type { Queryable } from '../store/database.ts'
import { listEnterpriseTenants, listTenants } from '../store/tenants.ts'
import type { Caller, Handlers } from './call.ts'

/**
 * Returns how much of each budget is used or leased, as admission counts it, by allowance. Leaves out a budget that nobody has used
 * lately: all of its use is settled. Resolves within a second.
 */
export type BudgetsTaken = (allowances: readonly string[]) => Promise<ReadonlyMap<string, number>>

type ShownSpend = Static<typeof Spend>

/** A thing with a budget, as an answer shows it. */
interface Shown {
  readonly id?: string
  readonly monthly_budget?: number | null
  readonly department_id?: string | null
  readonly member_id?: string | null
  spend: ShownSpend | null
}

type Kind = 'key' | 'member' | 'department' | 'enterprise' | 'wallet'

/** The operations that answer with such things, or with a list of them. Their handlers leave `spend` null. */
const SPENDERS = {
  listKeys: 'key',
  createKey: 'key',
  getKey: 'key',
  updateKey: 'key',
  toggleKey: 'key',
  rotateKey: 'key',
  listEnterpriseKeys: 'key',
  createEnterpriseKey: 'key',
  getEnterpriseKey: 'key',
  updateEnterpriseKey: 'key',
  toggleEnterpriseKey: 'key',
  rotateEnterpriseKey: 'key',
  listMembers: 'member',
  getMember: 'member',
  updateMember: 'member',
  listDepartments: 'department',
  createDepartment: 'department',
  getDepartment: 'department',
  updateDepartment: 'department',
  adminListEnterprises: 'enterprise',
  adminCreateEnterprise: 'enterprise',
  adminGetEnterprise: 'enterprise',
  adminUpdateEnterprise: 'enterprise',
  getEnterprise: 'enterprise',
  updateEnterprise: 'enterprise',
  getWallet: 'wallet',
  topUpWallet: 'wallet',
  adminAdjustWallet: 'wallet',
} as const satisfies Partial<Record<keyof Handlers, Kind>>

/** The handlers, with the spend of all that they answer. */
export function withSpend(handlers: Handlers, database: Queryable, taken: BudgetsTaken): Handlers {
  const reader = new SpendReader(database, taken)
  const wrapped = Object.entries(SPENDERS).map(([name, kind]) => {
    const handle = handlers[name as keyof typeof SPENDERS] as unknown as (call: AnyCall) => Promise<Shown & ListOf>
    const show = async (call: AnyCall): Promise<unknown> => {
      const answer = await handle(call)
      await reader.fill(kind, call, answer.data ?? [answer])
      return answer
    }
    return [name, show] as const
  })
  return { ...handlers, ...Object.fromEntries(wrapped) }
}

interface AnyCall {
  readonly params: Readonly<Record<string, string>>
  readonly caller: Caller | null
}

interface ListOf {
  readonly data?: Shown[]
}

interface Line {
  readonly owner: BudgetOwner
  readonly id: string
  readonly limit: number | null
  /** By which the database counts its use. */
  readonly name: string
  /** Null for a wallet, which has no months. */
  readonly resetsAt: string | null
}

class SpendReader {
  readonly #database: Queryable
  readonly #taken: BudgetsTaken

  constructor(database: Queryable, taken: BudgetsTaken) {
    this.#database = database
    this.#taken = taken
  }

  async fill(kind: Kind, { params, caller }: AnyCall, shown: readonly Shown[]): Promise<void> {
    const inEnterprise = caller?.enterpriseRole ?? null
    if (shown.length === 0 || (inEnterprise !== null && !mayDo(inEnterprise, 'usage.read'))) return
    const ids =
      kind === 'enterprise' ? shown.map(({ id }) => id ?? '') : inEnterprise === null ? [] : [params['id'] ?? '']
    // Budgets of members and departments do not pay for an enterprise or its wallet.
    const read = kind === 'enterprise' || kind === 'wallet' ? listEnterpriseTenants : listTenants
    const tenants = ids.length === 0 ? NO_TENANTS : await read(this.#database, ids)
    const [enterpriseId = null] = kind === 'enterprise' ? [] : ids
    const lines = shown.map((one) => linesOf(kind, one, enterpriseId, tenants))
    const spends = await this.#read(lines.flat())
    for (const [index, one] of shown.entries()) one.spend = shownSpend(lines[index] ?? [], spends)
  }

  async #read(lines: readonly Line[]): Promise<ReadonlyMap<string, Spent>> {
    const names = [...new Set(lines.map(({ name }) => name))]
    const taken = await this.#taken(names.map((name) => budgetAllowance('money', name)))
    // Read last: what is settled meanwhile is not shown as held.
    const settled = await sumBudgetUse(this.#database, names)
    return new Map(
      names.map((name) => {
        const spent = settled.get(name) ?? 0
        const held = Math.max(0, Math.ceil((taken.get(budgetAllowance('money', name)) ?? spent) - spent))
        return [name, { spent, held }]
      }),
    )
  }
}

interface Spent {
  readonly spent: number
  readonly held: number
}

/** The budgets that pay for a thing: its own first. */
function linesOf(kind: Kind, shown: Shown, enterpriseId: string | null, tenants: Tenants): Line[] {
  const id = shown.id ?? ''
  const spender: Spender = {
    keyId: kind === 'key' ? id : null,
    memberId: kind === 'member' ? id : (shown.member_id ?? null),
    departmentId: kind === 'department' ? id : kind === 'member' ? null : (shown.department_id ?? null),
    enterpriseId: kind === 'enterprise' ? id : enterpriseId,
  }
  const own: MonthlyBudget = { ...NO_BUDGET, moneyMicro: shown.monthly_budget ?? null }
  const { name: month, endMs } = monthAt(timeZoneOf(spender, tenants), Date.now())
  const lines = ownersOf(spender, tenants).map(([owner, ownerId]): Line => {
    const limit = budgetOf(owner, ownerId, own, tenants).moneyMicro
    const resetsAt = owner === 'wallet' ? null : new Date(endMs).toISOString()
    return { owner, id: ownerId, limit, name: budgetName(owner, ownerId, month), resetsAt }
  })
  return kind === 'wallet' ? lines.filter(({ owner }) => owner === 'wallet') : lines
}

function shownSpend([own, ...others]: readonly Line[], spends: ReadonlyMap<string, Spent>): ShownSpend | null {
  if (own === undefined) return null
  const remainingOf = ({ limit, name }: Line): number => {
    const { spent, held } = spends.get(name) ?? { spent: 0, held: 0 }
    return limit === null ? Infinity : Math.max(0, limit - spent - held)
  }
  const remaining = remainingOf(own)
  const nearest = others.reduce((least, one) => (remainingOf(one) < remainingOf(least) ? one : least), own)
  return {
    limit: own.limit,
    ...(spends.get(own.name) ?? { spent: 0, held: 0 }),
    remaining: own.limit === null ? null : remaining,
    resets_at: own.resetsAt,
    nearest: nearest === own ? null : { owner: nearest.owner, id: nearest.id, remaining: remainingOf(nearest) },
  }
}
