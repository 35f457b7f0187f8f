import { shippedCatalogue } from '../../../shared/config/catalogue.ts'
import { ModelCatalogue } from '../../../shared/core/model-facts.ts'
import type { ModelPrices } from '../../../shared/core/model-facts.ts'
import type { Remarks } from '../draft.ts'
import type { Channel } from './channels.ts'
import { objectOf } from './rows.ts'

/** An entry of `models:` of the configuration. */
export interface DraftFacts {
  readonly id: string
  readonly provider?: string
  readonly prices: DraftPrices
}

interface DraftPrices {
  readonly input: number
  readonly output: number
  readonly cached_input?: number
  readonly cache_write?: number
}

export type Options = ReadonlyMap<string, string>

const DEFAULT_QUOTA_PER_USD = 500_000

/** Units of quota for a dollar. */
export function quotaPerUsd(options: Options): number {
  const value = Number(options.get('QuotaPerUnit') ?? '')
  return value > 0 && Number.isFinite(value) ? value : DEFAULT_QUOTA_PER_USD
}

/**
 * Prices from the ratios of models. A token of a prompt costs ratio units of quota, one of an answer that times the ratio of
 * completions. Ratios that the options lack come from the list prices of the catalogue.
 */
export function pricesOf(channels: readonly Channel[], options: Options, remarks: Remarks): DraftFacts[] {
  const ratios = ratiosOf(options, remarks)
  const catalogue = new ModelCatalogue(shippedCatalogue())
  const facts = new Map<string, DraftFacts>()
  const told = new Set<string>()
  const tellOnce = (place: string, tell: () => void): void => {
    if (told.has(place)) return
    told.add(place)
    tell()
  }
  for (const channel of channels) {
    for (const { host, models } of channel.hosts) {
      for (const [id, upstreamModel] of models) {
        const perRequest = ratios.price.get(id)
        if (perRequest !== undefined) {
          tellOnce(`options.ModelPrice.${id}`, () => {
            remarks.lose(`options.ModelPrice.${id}`, `$${perRequest} for a request: Sluice has prices of tokens alone`)
          })
          continue
        }
        const ratio = ratios.model.get(id)
        if (ratio === undefined) continue
        const listed = catalogue.factsOf(upstreamModel, host.provider ?? null)?.prices ?? null
        const completion = ratios.completion.get(id) ?? listedRatio(listed, 'output')
        if (completion === undefined) {
          tellOnce(`options.CompletionRatio.${id}`, () => {
            remarks.change(
              `options.CompletionRatio.${id}`,
              'is not stored: tokens of answers cost as much as those of prompts',
            )
          })
        }
        const input = (ratio / quotaPerUsd(options)) * 1e12
        const cached = ratios.cache.get(id) ?? listedRatio(listed, 'cachedInput')
        const written = ratios.createCache.get(id) ?? listedRatio(listed, 'cacheWrite')
        const entry: DraftFacts = {
          id: upstreamModel,
          ...(host.provider === undefined ? {} : { provider: host.provider }),
          prices: {
            input: Math.round(input),
            output: Math.round(input * (completion ?? 1)),
            ...(cached === undefined ? {} : { cached_input: Math.round(input * cached) }),
            ...(written === undefined ? {} : { cache_write: Math.round(input * written) }),
          },
        }
        const key = JSON.stringify([entry.id, entry.provider])
        const first = facts.get(key)
        if (first === undefined) facts.set(key, entry)
        else if (JSON.stringify(first) !== JSON.stringify(entry)) {
          tellOnce(`options.ModelRatio.${id}`, () => {
            remarks.lose(
              `options.ModelRatio.${id}`,
              `another name of "${upstreamModel}" has another price, which counts`,
            )
          })
        }
      }
    }
  }
  return [...facts.values()]
}

interface Ratios {
  readonly model: ReadonlyMap<string, number>
  readonly completion: ReadonlyMap<string, number>
  readonly price: ReadonlyMap<string, number>
  readonly cache: ReadonlyMap<string, number>
  readonly createCache: ReadonlyMap<string, number>
}

function ratiosOf(options: Options, remarks: Remarks): Ratios {
  if (!options.has('ModelRatio')) {
    remarks.change('options.ModelRatio', 'is not stored: the list prices of the catalogue hold (config/models.yaml)')
  }
  return {
    model: numbersOf(options, 'ModelRatio', remarks),
    completion: numbersOf(options, 'CompletionRatio', remarks),
    price: numbersOf(options, 'ModelPrice', remarks),
    cache: numbersOf(options, 'CacheRatio', remarks),
    createCache: numbersOf(options, 'CreateCacheRatio', remarks),
  }
}

/** Numbers by name, of an option with a JSON object. */
export function numbersOf(options: Options, name: string, remarks: Remarks): ReadonlyMap<string, number> {
  const source = (options.get(name) ?? '').trim()
  const entries = Object.entries(objectOf(source))
  if (source !== '' && source !== '{}' && entries.length === 0) remarks.lose(`options.${name}`, 'is not a JSON object')
  return new Map(
    entries.flatMap(([key, value]): Array<[string, number]> =>
      typeof value === 'number' && Number.isFinite(value) && value >= 0 ? [[key, value]] : [],
    ),
  )
}

/** A list price in relation to that of the prompt. */
function listedRatio(listed: ModelPrices | null, of: 'output' | 'cachedInput' | 'cacheWrite'): number | undefined {
  return listed === null || listed.input === 0 ? undefined : listed[of] / listed.input
}
