import type { ReactNode } from 'react'
import { Money, Nothing } from '../../parts/values.tsx'
import { useWords } from '../../words/index.ts'
import { bindingOf } from './budget-chain.ts'
import type { ChainBudget } from './budget-chain.ts'
import classes from './departments-page.module.css'

interface BudgetListProps {
  readonly chain: readonly ChainBudget[]
}

/** Every budget that pays, with what is left of it; the one that ends first is marked. */
export function BudgetList({ chain }: BudgetListProps): ReactNode {
  const t = useWords('departments')
  const binding = bindingOf(chain)
  return (
    <table className={classes.chain}>
      <thead>
        <tr>
          <th scope="col">{t('budgetOf')}</th>
          <th scope="col">{t('columns.limit')}</th>
          <th scope="col">{t('columns.left')}</th>
        </tr>
      </thead>
      <tbody>
        {chain.map((budget) => (
          <tr key={budget.id} data-binding={budget === binding || undefined}>
            <th scope="row">
              {budget.name ?? t('platform')}
              {budget === binding && <span className="muted note"> {t('bindsMark')}</span>}
            </th>
            <td>{budget.limit === null ? <Nothing why={t('noLimit')} /> : <Money micro={budget.limit} />}</td>
            <td>
              {budget.remaining === null ? (
                <Nothing why={budget.limit === null ? t('noLimit') : t('hidden')} />
              ) : (
                <Money micro={budget.remaining} />
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
