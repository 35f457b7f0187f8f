import type { ResultOf } from '../../../client/index.ts'
import { amountOf } from '../../format/money.ts'
import { csvText } from '../../format/csv.ts'

/** The lines of a statement, the newest first; amounts are whole units with decimals. */
export function statementCsv({ lines, currency }: ResultOf<'walletStatement'>): string {
  const amount = (micro: number): string => (micro < 0 ? `-${amountOf(-micro)}` : amountOf(micro))
  return csvText([
    ['time', 'kind', 'reference', `amount (${currency})`, `balance (${currency})`],
    ...lines.map((line) => [line.time, line.kind, line.reference ?? '', amount(line.amount), amount(line.balance)]),
  ])
}
