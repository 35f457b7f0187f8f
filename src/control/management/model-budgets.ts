import { KnownNames } from '../../shared/config/known-names.ts'
import { problemOf } from '../../shared/config/model-groups.ts'
import type { Book } from '../../shared/config/upstream-book.ts'
import { modelBudgetName } from '../../shared/core/budget.ts'
import type { ModelBudget } from '../../shared/core/budget.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { ModelNames } from '../../shared/core/model-names.ts'
import { monthAt } from '../../shared/core/month.ts'
import { findEnterprise } from '../store/enterprises.ts'
import { addEarlierUse, sumModelUse } from '../store/model-budgets.ts'
import type { ModelBudgetHolder } from '../store/model-budgets.ts'
import { listStored } from '../store/upstreams.ts'
import { orNotFound } from './or-not-found.ts'
import type { UpstreamParts } from './upstream-handlers.ts'
import { pointerTo } from './validate-as-configuration.ts'

interface SentModelBudget {
  readonly models: readonly string[]
  readonly monthly_budget?: number | null | undefined
  readonly monthly_tokens?: number | null | undefined
}

interface Sent {
  readonly model_budgets?: readonly SentModelBudget[] | null | undefined
}

type Budgets = readonly ModelBudget[] | null | undefined

/** Budgets for models, as bodies have them. */
export class ModelBudgets {
  readonly #parts: Pick<UpstreamParts, 'database' | 'book' | 'seal'>

  constructor(parts: Pick<UpstreamParts, 'database' | 'book' | 'seal'>) {
    this.#parts = parts
  }

  /** Rejects with INVALID_FIELD. Undefined: the body has none. */
  async read({ model_budgets: sent }: Sent): Promise<Budgets> {
    if (sent === null || sent === undefined) return sent
    if (sent.length === 0) return null
    const known = new KnownNames(await this.#book())
    const seen = new Set<string>()
    return sent.map(({ models, monthly_budget: money = null, monthly_tokens: tokens = null }, index) => {
      const refuse = (message: string, ...at: ReadonlyArray<string | number>): never => {
        throw new GatewayError('INVALID_FIELD', { message, param: pointerTo(['model_budgets', index, ...at]) })
      }
      if (money === null && tokens === null) refuse('Give monthly_budget, monthly_tokens or both.')
      for (const [place, name] of models.entries()) {
        const problem = problemOf(name, models, place)
        if (problem !== null) refuse(`${JSON.stringify(name)}: ${problem}.`, 'models', place)
        if (!known.has(name)) refuse(noSuch(name), 'models', place)
      }
      const set = JSON.stringify(models.toSorted())
      if (seen.has(set)) refuse('Another budget is for the same models: join the two.', 'models')
      seen.add(set)
      return { models: [...models], moneyMicro: money, tokens }
    })
  }

  /** Counts what settled requests of this month used before, for budgets that are new. Call it in the transaction that sets them. */
  async countEarlier(holder: ModelBudgetHolder, budgets: Budgets): Promise<void> {
    if (budgets === null || budgets === undefined || budgets.length === 0) return
    const { database } = this.#parts
    const { timeZone } = orNotFound(await findEnterprise(database, holder.enterpriseId))
    const month = monthAt(timeZone, Date.now())
    const uses = await sumModelUse(database, holder, new Date(month.startMs))
    const names = new ModelNames((await this.#book()).names)
    const earlier = budgets.map(({ models }) => {
      const covered = uses.filter(({ model }) => names.cover(models, model))
      return {
        budget: modelBudgetName(models, holder.owner, holder.id, month.name),
        costMicro: covered.reduce((sum, { costMicro }) => sum + costMicro, 0),
        tokens: covered.reduce((sum, { tokens }) => sum + tokens, 0),
      }
    })
    await addEarlierUse(
      database,
      earlier.filter(({ costMicro, tokens }) => costMicro > 0 || tokens > 0),
    )
  }

  async #book(): Promise<Book> {
    const { database, book, seal } = this.#parts
    return book.merge(await listStored(database, seal))
  }
}

/** A budget for a name that nothing has would limit nothing. */
function noSuch(name: string): string {
  return `There is no model and no group of models ${JSON.stringify(name)}: GET /v1/models lists the models.`
}

export interface ShownModelBudget {
  models: string[]
  monthly_budget: number | null
  monthly_tokens: number | null
}

export function renderedModelBudgets(budgets: readonly ModelBudget[] | null): ShownModelBudget[] {
  return (budgets ?? []).map(({ models, moneyMicro, tokens }) => {
    return { models: [...models], monthly_budget: moneyMicro, monthly_tokens: tokens }
  })
}
