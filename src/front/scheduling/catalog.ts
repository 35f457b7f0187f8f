import type { TargetQuirks } from '../../shared/core/codec.ts'
import type { Deployment } from '../../shared/core/deployment.ts'
import type { ServedBy } from '../../shared/core/endpoint.ts'
import { SERVICE_NAMES, serviceOf } from '../../shared/core/service.ts'
import type { Service, ServiceName } from '../../shared/core/service.ts'
import { ModelCatalogue, targetQuirks } from '../../shared/core/model-facts.ts'
import type { Model, Provider, Snapshot, UpstreamKey } from '../../shared/core/snapshot.ts'
import type { KeyState } from './key-state.ts'

/** A deployment with the state of its key. */
export interface Candidate {
  readonly deployment: Deployment
  readonly key: KeyState
  /** The scheduler uses lower numbers first. */
  readonly priority: number
  readonly weight: number
  /** `weight` ÷ the largest weight of the same priority, 0 to 1. */
  readonly share: number
}

/** The candidates of a model, sorted by priority. Never empty. */
export type Route = readonly Candidate[]

/** Finds where a provider's model differs from the dialect's own service. */
type TargetLookup = (provider: Provider, upstreamModel: string) => TargetQuirks

const MAX_NAMES_OF_PATTERNS = 1_000

/** The models of a snapshot, sorted and indexed once. */
export class Catalog {
  readonly #routes = new Map<string, ReadonlyMap<ServedBy, Route>>()
  readonly #patterns: ReadonlyArray<{ readonly prefix: string; readonly routes: ReadonlyMap<ServedBy, Route> }>
  /** Routes of names that matched a pattern. Clients can make up such names: bounded. */
  readonly #named = new Map<string, Map<ServedBy, Route>>()

  readonly #facts: ModelCatalogue

  constructor(
    { providers, models, facts = [] }: Snapshot,
    stateOf: (provider: Provider, key: UpstreamKey) => KeyState,
  ) {
    this.#facts = new ModelCatalogue(facts)
    const byId = new Map(providers.map((provider) => [provider.id, provider]))
    const patterns: Array<{ prefix: string; routes: ReadonlyMap<ServedBy, Route> }> = []
    for (const model of models) {
      const routes = routesOf(model, byId, stateOf, this.#targetOf)
      if (model.id.endsWith('*')) patterns.push({ prefix: model.id.slice(0, -1), routes })
      else this.#routes.set(model.id, routes)
    }
    this.#patterns = patterns.sort((a, b) => b.prefix.length - a.prefix.length)
  }

  /** The route of the model with this id, else of the longest matching pattern; null when no `servedBy` upstream has it. */
  route(model: string, servedBy: ServedBy): Route | null {
    const exact = this.#routes.get(model)
    if (exact !== undefined) return exact.get(servedBy) ?? null
    return this.#named.get(model)?.get(servedBy) ?? this.#byPattern(model, servedBy)
  }

  #byPattern(model: string, servedBy: ServedBy): Route | null {
    const pattern = this.#patterns.find(({ prefix }) => model.startsWith(prefix))
    const general = pattern?.routes.get(servedBy)
    if (pattern === undefined || general === undefined) return null
    const rest = model.slice(pattern.prefix.length)
    const targetOf = cached(this.#targetOf)
    const route = general.flatMap((candidate) => {
      const deployment = withService(withName(candidate.deployment, rest, targetOf), servedBy)
      return deployment === null ? [] : [{ ...candidate, deployment }]
    })
    if (route.length === 0) return null
    if (this.#named.size >= MAX_NAMES_OF_PATTERNS) this.#named.clear()
    const known = this.#named.get(model) ?? new Map<ServedBy, Route>()
    this.#named.set(model, known.set(servedBy, route))
    return route
  }

  readonly #targetOf: TargetLookup = (provider, upstreamModel) =>
    targetQuirks(this.#facts.factsOf(upstreamModel, provider.profile ?? null, provider.id), provider.target)
}

function routesOf(
  model: Model,
  providers: ReadonlyMap<string, Provider>,
  stateOf: (provider: Provider, key: UpstreamKey) => KeyState,
  targetOf: TargetLookup,
): ReadonlyMap<ServedBy, Route> {
  const routes = new Map<ServedBy, Array<Omit<Candidate, 'share'>>>()
  for (const target of model.targets) {
    const provider = providers.get(target.providerId)
    if (provider === undefined) continue
    const { upstreamModel } = target
    const quirks = targetOf(provider, upstreamModel)
    for (const key of provider.keys) {
      const weight = target.weight * key.weight
      if (!key.enabled || !(weight > 0)) continue
      const candidate = {
        deployment: { provider, key, upstreamModel, weight, target: quirks },
        key: stateOf(provider, key),
        priority: (target.priority ?? 0) + (key.priority ?? 0),
        weight,
      }
      const add = (servedBy: ServedBy, one: Omit<Candidate, 'share'>): void => {
        const candidates = routes.get(servedBy)
        if (candidates === undefined) routes.set(servedBy, [one])
        else candidates.push(one)
      }
      if (provider.converses !== false)
        for (const servedBy of [provider.dialect, 'any'] as const) add(servedBy, candidate)
      for (const name of SERVICE_NAMES) {
        const service = possibleService(provider, name, upstreamModel)
        if (service !== null) add(name, { ...candidate, deployment: { ...candidate.deployment, service } })
      }
    }
  }
  return new Map([...routes].map(([servedBy, candidates]) => [servedBy, byPriority(candidates)]))
}

function byPriority(candidates: ReadonlyArray<Omit<Candidate, 'share'>>): Route {
  const heaviest = new Map<number, number>()
  for (const { priority, weight } of candidates) {
    heaviest.set(priority, Math.max(weight, heaviest.get(priority) ?? 0))
  }
  return candidates
    .map((candidate) => ({ ...candidate, share: candidate.weight / (heaviest.get(candidate.priority) ?? 1) }))
    .sort((a, b) => a.priority - b.priority)
}

function withName(deployment: Deployment, rest: string, targetOf: TargetLookup): Deployment {
  // A function, because `replace` would expand "$&" and the like in a string.
  const upstreamModel = deployment.upstreamModel.replace(/\*$/, () => rest)
  return { ...deployment, upstreamModel, target: targetOf(deployment.provider, upstreamModel) }
}

/** The service of the model. For a pattern, the first entry stands for all until `withService` knows the name. */
function possibleService({ services }: Provider, name: ServiceName, upstreamModel: string): Service | null {
  return upstreamModel.endsWith('*') ? (services?.[name]?.[0] ?? null) : serviceOf(services, name, upstreamModel)
}

/** Replaces the service by that of the full model name; null when the provider does not serve this model. */
function withService(deployment: Deployment, servedBy: ServedBy): Deployment | null {
  const name = SERVICE_NAMES.find((one) => one === servedBy)
  if (name === undefined) return deployment
  const service = serviceOf(deployment.provider.services, name, deployment.upstreamModel)
  return service === null ? null : { ...deployment, service }
}

/** Caches `targetOf`, so that the keys of one provider share the result for its model. */
function cached(targetOf: TargetLookup): TargetLookup {
  const found = new Map<string, TargetQuirks>()
  return (provider, upstreamModel) => {
    const name = `${provider.id}\n${upstreamModel}`
    const known = found.get(name) ?? targetOf(provider, upstreamModel)
    found.set(name, known)
    return known
  }
}
