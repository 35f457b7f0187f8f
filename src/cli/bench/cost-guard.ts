import { createInterface } from 'node:readline/promises'
import { shippedCatalogue } from '../../shared/config/catalogue.ts'
import { UsageError } from '../../shared/config/config-error.ts'
import { ModelCatalogue } from '../../shared/core/model-facts.ts'
import type { Output } from '../output.ts'
import type { BenchSettings } from './options.ts'
import type { Bench, Need, Scenario } from './scenario.ts'
import type { Price } from './spend.ts'
import type { Target } from './target.ts'

/** Prices of the catalogue are millionths of a dollar per million tokens. */
const PER_TOKEN = 1e12

/** Dollars per token: by `--price`, or of the catalogue that comes with the program. Null: not known. */
export function priceFor(target: Target, settings: BenchSettings): Price | null {
  if (target.isSimulated) return { prompt: 0, completion: 0 }
  if (settings.price !== null) return settings.price
  const prices = new ModelCatalogue(shippedCatalogue()).factsOf(target.model, null)?.prices ?? null
  return prices === null ? null : { prompt: prices.input / PER_TOKEN, completion: prices.output / PER_TOKEN }
}

/** The most that the scenarios send and get. */
export function needOf(scenarios: readonly Scenario[], bench: Pick<Bench, 'doses' | 'trace'>): Need {
  const needs = scenarios.map((scenario) => scenario.need(bench))
  return {
    requests: needs.reduce((sum, { requests }) => sum + requests, 0),
    promptTokens: needs.reduce((sum, { promptTokens }) => sum + promptTokens, 0),
    completionTokens: needs.reduce((sum, { completionTokens }) => sum + completionTokens, 0),
  }
}

/**
 * Lets the bench go on only when somebody has agreed to the cost: `--max-cost` is at least the most that it can cost, or a person at the
 * terminal says yes. Rejects with UsageError. Nothing is sent before that.
 */
export async function guardCost(
  need: Need,
  price: Price | null,
  settings: BenchSettings,
  output: Output,
): Promise<void> {
  const tokens = `${whole(need.promptTokens)} tokens of prompts and ${whole(need.completionTokens)} of answers`
  const dollars = price === null ? null : need.promptTokens * price.prompt + need.completionTokens * price.completion
  const cost = dollars === null ? 'the price of the model is not known' : `at most $${money(dollars)}`
  const says = `${settings.model ?? ''} is a model of a real provider: ${whole(need.requests)} requests, up to ${tokens}, ${cost}`
  if (settings.maxCost !== null) {
    if (dollars === null)
      throw new UsageError(`${says}; --max-cost needs it: give --price PROMPT,ANSWER in dollars per million tokens`)
    if (dollars <= settings.maxCost) return
    throw new UsageError(
      `${says}; --max-cost allows $${money(settings.maxCost)}: raise it, lower --rate or --seconds, or choose scenarios by --only`,
    )
  }
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new UsageError(`${says}; give --max-cost DOLLARS to agree, or run the command on a terminal, where it asks`)
  }
  output.note(says)
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = await terminal.question('Send them? [y/N] ')
    if (!/^y(es)?$/i.test(answer.trim())) throw new UsageError('nothing was sent')
  } finally {
    terminal.close()
  }
}

function whole(count: number): string {
  return Math.ceil(count).toLocaleString('en')
}

/** Two digits after the point, or as many as show two digits of the value. */
function money(dollars: number): string {
  return dollars === 0 || dollars >= 0.01 ? dollars.toFixed(2) : dollars.toPrecision(2)
}
