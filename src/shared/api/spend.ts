import { Type } from 'typebox'
import { nounOrNull, nullable } from './nullable.ts'
import { Time } from './operation.ts'

const Micro = (description: string) => Type.Integer({ description })

const Spent = Micro('What settled requests cost. Micro-units.')
const Held = Micro('Reserved by requests under way, or leased to gateways for the next ones. Micro-units.')
const Remaining = nullable(
  Micro('What new requests may still use: limit less spent less held. Null: there is no limit.'),
)

/** What is spent of a budget, from the truth that admission uses. */
export const Spend = Type.Object({
  limit: nullable(Micro('The budget of the month; of a wallet, all that was credited. Micro-units. Null: none.')),
  spent: Spent,
  held: Held,
  remaining: Remaining,
  resets_at: nullable({
    ...Time,
    description: 'When the next month begins, in the time zone of the enterprise. Null: never.',
  }),
  forecast: nullable(
    Micro(
      'What the month will have cost at its end, if spending goes on at its present rate: since the month began, with the month before counted like a week of this one. Micro-units. Null: a wallet, which has no months.',
    ),
  ),
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
  models: Type.Array(
    Type.Object({
      models: Type.Array(Type.String()),
      limit: nullable(
        Micro('The budget of the month for these models. Micro-units. Null: only its tokens are limited.'),
      ),
      spent: Spent,
      held: Held,
      remaining: Remaining,
      resets_at: Time,
    }),
    { description: 'Its own budgets for some models.' },
  ),
})

export const ShownSpend = nounOrNull(Spend, { description: 'Null: only owners, admins and finance see it.' })
