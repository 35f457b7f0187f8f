import type { ModelFacts } from '../core/model-facts.ts'
import type { Model, ModelTarget, Provider } from '../core/snapshot.ts'
import type { Config } from './shape.ts'

/** What of a snapshot the configuration decides. */
export interface SnapshotParts {
  readonly providers: Provider[]
  readonly models: Model[]
  readonly facts: readonly ModelFacts[]
}

/**
 * Providers, models and what is known of them, as plain copies that serialise with their credentials. Upstreams that serve
 * the same model id become targets of one model; a model id or name at the upstream that ends in `*` stays a pattern. Other
 * names of models that are served become models as well, unless they are served themselves.
 */
export function toSnapshotParts(config: Pick<Config, 'upstreams' | 'models'>): SnapshotParts {
  const providers: Provider[] = []
  const models = new Map<string, { ownedBy: string; targets: ModelTarget[] }>()
  for (const { models: served, ...upstream } of config.upstreams) {
    providers.push({
      ...upstream,
      headers: { ...upstream.headers },
      keys: upstream.keys.map((key) => ({ ...key })),
      timeouts: { ...upstream.timeouts },
    })
    for (const { id, upstreamModel, weight, priority, ownedBy } of served) {
      const model = models.get(id) ?? { ownedBy, targets: [] }
      models.set(id, model)
      model.targets.push({ providerId: upstream.id, upstreamModel, weight, priority })
    }
  }
  // The file does not say when a model was made: 0, as the protocol wants a number.
  const all: Model[] = [...models].map(([id, model]) => ({ id, created: 0, ...model }))
  return { providers, models: [...all, ...aliasModels(config.models, all)], facts: structuredClone(config.models) }
}

/** Of two models with the same other name the first one has it. */
function aliasModels(facts: readonly ModelFacts[], models: readonly Model[]): Model[] {
  const taken = new Set(models.map(({ id }) => id))
  const aliases: Model[] = []
  for (const { id, aliases: names } of facts) {
    if (names.length === 0) continue
    const model = servedAs(id, models)
    if (model === null) continue
    for (const name of names) {
      if (taken.has(name)) continue
      taken.add(name)
      aliases.push({ ...model, id: name })
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
