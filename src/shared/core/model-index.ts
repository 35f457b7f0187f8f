import { factsUnder, ModelCatalogue } from './model-facts.ts'
import type { ModelFacts } from './model-facts.ts'
import type { Model, ModelTarget, Snapshot } from './snapshot.ts'

/** A model that clients may ask for, with its known facts. */
export interface ListedModel {
  readonly id: string
  readonly ownedBy: string
  /** Unix time in seconds. */
  readonly created: number
  readonly facts: ModelFacts | null
}

/** When the catalogue was compiled: its models existed then. */
const CATALOGUE_TIME = Date.UTC(2026, 10, 21) / 1000

/** The models by id: those configured by name, and for each pattern those in the catalogue. */
export class ModelIndex {
  /** Sorted by id. */
  readonly all: readonly ListedModel[]
  readonly #catalogue: ModelCatalogue
  readonly #profiles: ReadonlyMap<string, string>
  /** The longest pattern comes first. */
  readonly #patterns: readonly Model[]
  readonly #byId: ReadonlyMap<string, ListedModel>

  constructor({ models, providers, facts = [] }: Pick<Snapshot, 'models' | 'providers' | 'facts'>) {
    this.#catalogue = new ModelCatalogue(facts)
    this.#profiles = new Map(providers.flatMap(({ id, profile }) => (profile === undefined ? [] : [[id, profile]])))
    this.#patterns = models.filter(isPattern).sort((a, b) => b.id.length - a.id.length)
    const listed = new Map<string, ListedModel>()
    for (const model of models) if (!isPattern(model)) listed.set(model.id, this.#listed(model, model.id))
    for (const model of this.#patterns) {
      for (const id of model.targets.flatMap((target) => this.#idsOf(model, target, facts))) {
        if (!listed.has(id)) listed.set(id, this.#listed(model, id))
      }
    }
    this.#byId = listed
    this.all = [...listed.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  /** The model with this id, also when only a pattern matches it. */
  find(id: string): ListedModel | undefined {
    const known = this.#byId.get(id)
    if (known !== undefined || id.endsWith('*')) return known
    const pattern = this.#patterns.find((model) => id.startsWith(prefixOf(model.id)))
    return pattern === undefined ? undefined : this.#listed(pattern, id)
  }

  #listed(model: Model, id: string): ListedModel {
    const { ownedBy, created, targets } = model
    let facts: ModelFacts | null = null
    for (const { providerId, upstreamModel } of targets) {
      const served = isPattern(model)
        ? upstreamModel.replace(/\*$/, () => id.slice(model.id.length - 1))
        : upstreamModel
      facts ??= this.#catalogue.factsOf(served, this.#profiles.get(providerId) ?? null, providerId)
    }
    return { id, ownedBy, created: created > 0 ? created : (dateOf(id) ?? CATALOGUE_TIME), facts }
  }

  #idsOf({ id }: Model, { providerId, upstreamModel }: ModelTarget, facts: readonly ModelFacts[]): string[] {
    const known = factsUnder(upstreamModel, this.#profiles.get(providerId) ?? null, facts)
    return known.map((fact) => prefixOf(id) + fact.id.slice(prefixOf(upstreamModel).length))
  }
}

function isPattern({ id }: { readonly id: string }): boolean {
  return id.endsWith('*')
}

function prefixOf(pattern: string): string {
  return pattern.slice(0, -1)
}

/** The date in a model id (`-2025-11-13`, `-20251101`), Unix seconds; null: none. */
function dateOf(id: string): number | null {
  const [, year, month, day] = /[-@](20\d{2})-?(\d{2})-?(\d{2})(?!\d)/.exec(id) ?? []
  const time = Date.parse(`${year}-${month}-${day}T00:00:00Z`)
  return Number.isNaN(time) ? null : time / 1000
}
