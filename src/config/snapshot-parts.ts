import type { ModelFacts } from '../core/model-facts.ts'
import type { Model, ModelTarget, Provider } from '../core/snapshot.ts'
import type { Config } from './shape.ts'
import type { SetModel } from './stored.ts'

/** What of a snapshot the configuration, and what stands beside it, decides. */
export interface SnapshotParts {
  readonly providers: Provider[]
  readonly models: Model[]
  readonly facts: readonly ModelFacts[]
  /** Models that are other names, and of what. */
  readonly aliases: ReadonlyMap<string, string>
}

interface Source extends Pick<Config, 'upstreams' | 'models'> {
  /** What management has set of models. */
  readonly set?: readonly SetModel[]
}

/**
 * Providers, models and what is known of them, as plain copies that serialise with their credentials. Upstreams that serve
 * the same model id become targets of one model; a model id or name at the upstream that ends in `*` stays a pattern. Other
 * names of models that are served become models as well, unless they are served themselves.
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
  // The file does not say when a model was made: 0, as the protocol wants a number.
  const all: Model[] = [...models].map(([id, model]) => ({ id, created: 0, ...model }))
  const renamed = new Set(set.flatMap(({ facts, aliases }) => (aliases === null ? [] : [facts.id])))
  const setFacts = set.map(({ facts }) => facts)
  const aliases = aliasModels([...setFacts, ...known.filter(({ id }) => !renamed.has(id))], all)
  return {
    providers,
    models: [...all, ...aliases.map(({ model }) => model)],
    facts: structuredClone([...setFacts, ...setFacts.flatMap((facts) => ofTargets(facts, all)), ...known]),
    aliases: new Map(aliases.map(({ model, of }) => [model.id, of])),
  }
}

/** What is set for a model counts under the names that it has at those who serve it, too. */
function ofTargets(facts: ModelFacts, models: readonly Model[]): ModelFacts[] {
  const targets = models.find(({ id }) => id === facts.id)?.targets ?? []
  return targets
    .filter(({ upstreamModel }) => upstreamModel !== facts.id)
    .map(({ providerId, upstreamModel }) => ({ ...facts, id: upstreamModel, upstream: providerId, aliases: [] }))
}

/** Of two models with the same other name the first one has it. */
function aliasModels(
  facts: readonly ModelFacts[],
  models: readonly Model[],
): ReadonlyArray<{ readonly model: Model; readonly of: string }> {
  const taken = new Set(models.map(({ id }) => id))
  const aliases: Array<{ model: Model; of: string }> = []
  for (const { id, aliases: names } of facts) {
    if (names.length === 0) continue
    const model = servedAs(id, models)
    if (model === null) continue
    for (const name of names) {
      if (taken.has(name)) continue
      taken.add(name)
      aliases.push({ model: { ...model, id: name }, of: id })
    }
  }
  return aliases
}

/** The model of this id, else of the longest pattern that it fits, with its names at the upstreams; null: nobody serves it. */
function servedAs(id: string, models: readonly Model[]): Model | null {
  const exact = models.find((model) => model.id === id)
  if (exact !== undefined) return exact
  const [pattern] = models
    .filter((model) => model.id.endsWith('*') && id.startsWith(model.id.slice(0, -1)))
    .sort((a, b) => b.id.length - a.id.length)
  if (pattern === undefined) return null
  const rest = id.slice(pattern.id.length - 1)
  const targets = pattern.targets.map((target) => ({
    ...target,
    upstreamModel: target.upstreamModel.replace(/\*$/, () => rest),
  }))
  return { ...pattern, targets }
}
