import type { Static } from 'typebox'
import type { Spend } from '../../shared/api/spend.ts'
import { mayDo } from '../../shared/api/roles.ts'
import {
  budgetAllowance,
  budgetName,
  budgetOf,
  modelBudgetName,
  NO_BUDGET,
  NO_TENANTS,
  ownersOf,
  timeZoneOf,
} from '../../shared/core/budget.ts'
import type { BudgetOwner, MonthlyBudget, Spender, Tenants } from '../../shared/core/budget.ts'
import { monthAt } from '../../shared/core/month.ts'
import type { Month } from '../../shared/core/month.ts'
import { sumBudgetUse } from '../store/budget-use.ts'
import type { Queryable } from '../store/database.ts'
import { listEnterpriseTenants, listTenants } from '../store/tenants.ts'
import type { Caller, Handlers } from './call.ts'
import { forecastOf } from './forecast.ts'

/**
 * Returns how much of each budget is used or leased, as admission counts it, by allowance. Leaves out a budget that nobody has used
 * lately: all of its use is settled. Resolves within a second.
 */
export type BudgetsTaken = (allowances: readonly string[]) => Promise<ReadonlyMap<string, number>>

const HOUR_MS = 3_600_000

type ShownSpend = Static<typeof Spend>

interface ModelBudgetOf {
  readonly models: string[]
  readonly monthly_budget: number | null
}

/** A thing with a budget, as an answer shows it. */
interface Shown {
  readonly id?: string
  readonly monthly_budget?: number | null
  readonly model_budgets?: readonly ModelBudgetOf[]
  readonly department_id?: string | null
  readonly member_id?: string | null
  readonly created_at?: string
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
      if (call.withoutSpend !== true) await reader.fill(kind, call, answer.data ?? [answer])
      return answer
    }
    return [name, show] as const
  })
  return { ...handlers, ...Object.fromEntries(wrapped) }
}

interface AnyCall {
  readonly params: Readonly<Record<string, string>>
  readonly caller: Caller | null
  readonly withoutSpend?: boolean
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
  readonly months: Months | null
}

/** The current month of a budget, and the one before. */
interface Months {
  readonly current: Month
  readonly before: Month
  /** The name by which the database counts the use of the month before. */
  readonly nameBefore: string
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
    const nowMs = Date.now()
    const calendar = new Calendar(nowMs)
    // Entity tags must not change with every millisecond.
    const hourMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS
    const lines = shown.map((one) => linesOf(kind, one, enterpriseId, tenants, calendar))
    const modelLines = shown.map((one, index) => modelLinesOf(one, lines[index]?.[0]))
    const spends = await this.#read([...lines.flat(), ...modelLines.flat()])
    const spentBefore = await this.#spentBefore(lines.flatMap(([own]) => own?.months?.nameBefore ?? []))
    for (const [index, one] of shown.entries()) {
      const own = lines[index] ?? []
      const models = (modelLines[index] ?? []).map((line) => shownModelSpend(line, spends))
      one.spend = shownSpend(own, spends, { forecast: forecast(one, own[0], spends, spentBefore, hourMs), models })
    }
  }

  #spentBefore(names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return sumBudgetUse(this.#database, [...new Set(names)])
  }

  async #read(lines: readonly Pick<Line, 'name'>[]): Promise<ReadonlyMap<string, Spent>> {
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

const NOTHING_SPENT: Spent = { spent: 0, held: 0 }

/** The budgets that pay for a thing: its own first. */
function linesOf(kind: Kind, shown: Shown, enterpriseId: string | null, tenants: Tenants, calendar: Calendar): Line[] {
  const id = shown.id ?? ''
  const spender: Spender = {
    keyId: kind === 'key' ? id : null,
    memberId: kind === 'member' ? id : (shown.member_id ?? null),
    departmentId: kind === 'department' ? id : kind === 'member' ? null : (shown.department_id ?? null),
    enterpriseId: kind === 'enterprise' ? id : enterpriseId,
  }
  const own: MonthlyBudget = { ...NO_BUDGET, moneyMicro: shown.monthly_budget ?? null }
  const { current, before } = calendar.monthsOf(timeZoneOf(spender, tenants))
  const lines = ownersOf(spender, tenants).map(([owner, ownerId]): Line => {
    const limit = budgetOf(owner, ownerId, own, tenants).moneyMicro
    const nameBefore = budgetName(owner, ownerId, before.name)
    const months = owner === 'wallet' ? null : { current, before, nameBefore }
    return { owner, id: ownerId, limit, name: budgetName(owner, ownerId, current.name), months }
  })
  return kind === 'wallet' ? lines.filter(({ owner }) => owner === 'wallet') : lines
}

/** A budget for some models. */
interface ModelLine {
  readonly models: string[]
  readonly limit: number | null
  readonly name: string
  readonly untilMs: number
}

/** The budgets of a thing for some models, in the month of its own line. */
function modelLinesOf({ model_budgets: budgets = [] }: Shown, own: Line | undefined): ModelLine[] {
  const months = own?.months ?? null
  if (own === undefined || months === null) return []
  const { name: month, endMs } = months.current
  return budgets.map(({ models, monthly_budget: limit }) => {
    return { models, limit, name: modelBudgetName(models, own.owner, own.id, month), untilMs: endMs }
  })
}

function shownModelSpend(
  { models, limit, name, untilMs }: ModelLine,
  spends: ReadonlyMap<string, Spent>,
): ShownSpend['models'][number] {
  const { spent, held } = spends.get(name) ?? NOTHING_SPENT
  const remaining = limit === null ? null : Math.max(0, limit - spent - held)
  return { models, limit, spent, held, remaining, resets_at: new Date(untilMs).toISOString() }
}

/** The months of each time zone at one moment. */
class Calendar {
  readonly #nowMs: number
  readonly #months = new Map<string, { readonly current: Month; readonly before: Month }>()

  constructor(nowMs: number) {
    this.#nowMs = nowMs
  }

  monthsOf(timeZone: string): { readonly current: Month; readonly before: Month } {
    let months = this.#months.get(timeZone)
    if (months === undefined) {
      const current = monthAt(timeZone, this.#nowMs)
      months = { current, before: monthAt(timeZone, current.startMs - 1) }
      this.#months.set(timeZone, months)
    }
    return months
  }
}

function forecast(
  shown: Shown,
  own: Line | undefined,
  spends: ReadonlyMap<string, Spent>,
  spentBefore: ReadonlyMap<string, number>,
  nowMs: number,
): number | null {
  if (own === undefined || own.months === null) return null
  const { current, before, nameBefore } = own.months
  return forecastOf({
    spent: spends.get(own.name)?.spent ?? 0,
    spentBefore: spentBefore.get(nameBefore) ?? 0,
    month: current,
    monthBefore: before,
    sinceMs: Date.parse(shown.created_at ?? '') || 0,
    nowMs,
  })
}

function shownSpend(
  [own, ...others]: readonly Line[],
  spends: ReadonlyMap<string, Spent>,
  more: Pick<ShownSpend, 'forecast' | 'models'>,
): ShownSpend | null {
  if (own === undefined) return null
  const remainingOf = ({ limit, name }: Line): number => {
    const { spent, held } = spends.get(name) ?? NOTHING_SPENT
    return limit === null ? Infinity : Math.max(0, limit - spent - held)
  }
  const remaining = remainingOf(own)
  const nearest = others.reduce((least, one) => (remainingOf(one) < remainingOf(least) ? one : least), own)
  return {
    limit: own.limit,
    ...(spends.get(own.name) ?? NOTHING_SPENT),
    remaining: own.limit === null ? null : remaining,
    resets_at: own.months === null ? null : new Date(own.months.current.endMs).toISOString(),
    nearest: nearest === own ? null : { owner: nearest.owner, id: nearest.id, remaining: remainingOf(nearest) },
    ...more,
  }
}
