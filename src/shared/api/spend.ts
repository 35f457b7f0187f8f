import { Type } from 'typebox'
import { nullable } from './nullable.ts'
import { Time } from './operation.ts'

const Micro = (description: string) => Type.Integer({ description })

/** What is spent of a budget, from the truth that admission uses. */
export const Spend = Type.Object({
  limit: nullable(Micro('The budget of the month; of a wallet, all that was credited. Micro-units. Null: none.')),
  spent: Micro('What settled requests cost. Micro-units.'),
  held: Micro('Reserved by requests under way, or leased to gateways for the next ones. Micro-units.'),
  remaining: nullable(Micro('What new requests may still use: limit less spent less held. Null: there is no limit.')),
  resets_at: nullable({
    ...Time,
    description: 'When the next month begins, in the time zone of the enterprise. Null: never.',
  }),
  nearest: nullable(
    Type.Object(
      {
        owner: Type.Enum(['key', 'member', 'department', 'enterprise', 'wallet']),
        id: Type.String(),
        remaining: Type.Integer(),
      },
      { description: 'Another budget that pays as well and has less left. Null: this one ends first.' },
    ),
  ),
})

export const ShownSpend = nullable({ ...Spend, description: 'Null: only owners, admins and finance see it.' })
