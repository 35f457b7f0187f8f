import type { ModelFacts } from '../core/model-facts.ts'
import type { Model, ModelTarget, Provider } from '../core/snapshot.ts'
import type { Config } from './shape.ts'
import type { SetModel } from './stored.ts'

/** The parts of a snapshot that come from the configuration and from stored upstreams and models. */
export interface SnapshotParts {
  readonly providers: Provider[]
  readonly models: Model[]
  readonly facts: readonly ModelFacts[]
  /** By alias: the id of its model. */
  readonly aliases: ReadonlyMap<string, string>
}

interface Source extends Pick<Config, 'upstreams' | 'models'> {
  /** Settings of models that management has made. */
  readonly set?: readonly SetModel[]
}

/**
 * Providers, models and facts, as plain copies that serialise with their credentials. Upstreams that serve the same model id
 * become targets of one model; a model id or upstream name that ends in `*` stays a pattern. Aliases of served models become
 * models too, unless an upstream serves that id itself.
 */
export function toSnapshotParts({ upstreams, models: known, set = [] }: Source): SnapshotParts {
  const providers: Provider[] = []
  const models = new Map<string, { ownedBy: string; targets: readonly ModelTarget[] }>()
  for (const { models: served, ...upstream } of upstreams) {
    providers.push({
      ...upstream,
      headers: { ...upstream.headers },
      keys: upstream.keys.map((key) => ({ ...key })),
      timeouts: { ...upstream.timeouts },
    })
    for (const { id, upstreamModel, weight, priority, ownedBy } of served) {
      const { ownedBy: owner, targets } = models.get(id) ?? { ownedBy, targets: [] }
      models.set(id, {
        ownedBy: owner,
        targets: [...targets, { providerId: upstream.id, upstreamModel, weight, priority }],
      })
    }
  }
  const serving = new Set(upstreams.filter(({ models: served }) => served.length > 0).map(({ id }) => id))
  for (const { facts, deployments } of set) {
    if (deployments === null) continue
    const targets = deployments.filter(({ providerId }) => serving.has(providerId))
    const [first] = targets
    if (first === undefined) models.delete(facts.id)
    else models.set(facts.id, { ownedBy: first.providerId, targets })
  }
  // The file does not say when a model was made, and the protocol wants a number.
  const all: Model[] = [...models].map(([id, model]) => ({ id, created: 0, ...model }))
  const served = new ServedModels(all)
  const renamed = new Set(set.flatMap(({ facts, aliases }) => (aliases === null ? [] : [facts.id])))
  const setFacts = set.map(({ facts }) => facts)
  const aliases = aliasModels([...setFacts, ...known.filter(({ id }) => !renamed.has(id))], served)
  return {
    providers,
    models: [...all, ...aliases.map(({ model }) => model)],
    facts: structuredClone([...setFacts, ...setFacts.flatMap((facts) => ofTargets(facts, served)), ...known]),
    aliases: new Map(aliases.map(({ model, of }) => [model.id, of])),
  }
}

/** Finds a model with its targets, by id or by a pattern that matches the id. */
export class ServedModels {
  readonly #exact: ReadonlyMap<string, Model>
  /** The longest first. */
  readonly #patterns: readonly Model[]

  constructor(models: readonly Model[]) {
    this.#exact = new Map(models.map((model) => [model.id, model]))
    this.#patterns = models.filter(({ id }) => id.endsWith('*')).sort((a, b) => b.id.length - a.id.length)
  }

  has(id: string): boolean {
    return this.#exact.has(id)
  }

  /** The model of this id, else of the longest pattern that matches, with its upstream names; null: no upstream serves it. */
  find(id: string): Model | null {
    const exact = this.#exact.get(id)
    if (exact !== undefined) return exact
    const pattern = this.#patterns.find((model) => id.startsWith(model.id.slice(0, -1)))
    if (pattern === undefined) return null
    const rest = id.slice(pattern.id.length - 1)
    const targets = pattern.targets.map((target) => ({
      ...target,
      upstreamModel: target.upstreamModel.replace(/\*$/, () => rest),
    }))
    return { ...pattern, targets }
  }
}

/** Settings of a model also apply under its names at its upstreams. */
function ofTargets(facts: ModelFacts, models: ServedModels): ModelFacts[] {
  const targets = models.find(facts.id)?.targets ?? []
  return targets
    .filter(({ upstreamModel }) => upstreamModel !== facts.id)
    .map(({ providerId, upstreamModel }) => ({ ...facts, id: upstreamModel, upstream: providerId, aliases: [] }))
}

/** If two models have the same alias, the first one gets it. */
function aliasModels(
  facts: readonly ModelFacts[],
  models: ServedModels,
): ReadonlyArray<{ readonly model: Model; readonly of: string }> {
  const taken = new Set<string>()
  const aliases: Array<{ model: Model; of: string }> = []
  for (const { id, aliases: names } of facts) {
    if (names.length === 0) continue
    const model = models.find(id)
    if (model === null) continue
    for (const name of names) {
      if (taken.has(name) || models.has(name)) continue
      taken.add(name)
      aliases.push({ model: { ...model, id: name }, of: id })
    }
  }
  return aliases
}
