import type { Path } from '../../../shared/config/config-error.ts'
import { shippedCatalogue } from '../../../shared/config/catalogue.ts'
import { ModelCatalogue } from '../../../shared/core/model-facts.ts'
import type { ModelPrices } from '../../../shared/core/model-facts.ts'
import type { Remarks } from '../draft.ts'
import type { Params } from './host.ts'

/** An entry of `models:` of the configuration. */
export type DraftFacts = { readonly id: string } & Readonly<Record<string, unknown>>

/** LiteLLM has prices for one token in dollars, Sluice for a million tokens in millionths of a dollar. */
const PER_TOKEN = 1e12

const USED = new Set([
  ...['id', 'mode', 'base_model', 'input_cost_per_token', 'output_cost_per_token', 'cache_read_input_token_cost'],
  ...['cache_creation_input_token_cost', 'max_tokens', 'max_input_tokens', 'max_output_tokens', 'supports_vision'],
  ...['supports_function_calling', 'description', 'metadata', 'created_at', 'db_model', 'litellm_provider', 'version'],
])

/** The facts of the file about a model: prices, lengths, abilities. Null when there is none that Sluice keeps. */
export function ownFacts(
  id: string,
  provider: string | undefined,
  { params, info }: { readonly params: Params; readonly info: Params },
  path: Path,
  remarks: Remarks,
): DraftFacts | null {
  for (const name of Object.keys(info)) {
    if (USED.has(name) || name.startsWith('supports_')) continue
    remarks.lose([...path, name], 'the catalogue of Sluice has no such fact about models')
  }
  const number = (name: string): number | undefined => {
    const value = info[name] ?? params[name]
    return typeof value === 'number' && value >= 0 ? value : undefined
  }
  const price = (name: string): number | undefined => {
    const value = number(name)
    return value === undefined ? undefined : Math.round(value * PER_TOKEN)
  }
  const input = price('input_cost_per_token')
  const output = price('output_cost_per_token')
  const cached = price('cache_read_input_token_cost')
  const written = price('cache_creation_input_token_cost')
  const own =
    input === undefined && output === undefined
      ? undefined
      : {
          input: input ?? 0,
          output: output ?? 0,
          ...(cached === undefined ? {} : { cached_input: cached }),
          ...(written === undefined ? {} : { cache_write: written }),
        }
  const prices = own ?? basePrices(info['base_model'], [...path, 'base_model'], remarks)
  const facts = {
    ...optional('context_tokens', number('max_input_tokens')),
    ...optional('max_output_tokens', info['max_output_tokens'] === undefined ? undefined : number('max_output_tokens')),
    ...optional('images', info['supports_vision'] === true ? true : undefined),
    ...optional('tools', info['supports_function_calling'] === true ? true : undefined),
    ...optional('prices', prices),
  }
  return Object.keys(facts).length === 0 ? null : { id, ...optional('provider', provider), ...facts }
}

/** The prices of the model that a deployment with a name of its own serves. */
function basePrices(model: unknown, path: Path, remarks: Remarks): object | undefined {
  if (typeof model !== 'string') return undefined
  const name = model.split('/').at(-1) ?? model
  const prices = new ModelCatalogue(shippedCatalogue()).factsOf(name, null)?.prices
  if (prices === null || prices === undefined) {
    remarks.lose(path, `the catalogue has no prices for "${name}": add them under models:`)
    return undefined
  }
  return asEntry(prices)
}

function asEntry({ longPrompts, ...prices }: ModelPrices): object {
  const plain = ({ input, output, cachedInput, cacheWrite }: Omit<ModelPrices, 'longPrompts'>): object => ({
    input,
    output,
    cached_input: cachedInput,
    cache_write: cacheWrite,
  })
  if (longPrompts.length === 0) return plain(prices)
  const tiers = longPrompts.map((tier) => ({ above_tokens: tier.aboveTokens, ...plain(tier) }))
  return { ...plain(prices), long_prompts: tiers }
}

function optional(name: string, value: unknown): Record<string, unknown> {
  return value === undefined ? {} : { [name]: value }
}
