import { Ids } from '../draft.ts'
import type { DraftKey, DraftModel, DraftUpstream } from '../draft.ts'
import { SHARES } from './deployments.ts'
import type { Deployment } from './deployments.ts'

/** One host with one credential, and the models that it serves. */
interface Account {
  readonly first: Deployment
  readonly models: DraftModel[]
  maxConcurrency: number | undefined
}

/**
 * Makes upstreams of deployments. Deployments of one host and credential share an upstream. Accounts of one host that serve the same
 * models become keys of one upstream.
 */
export function upstreamsOf(
  deployments: readonly Deployment[],
  aliases: ReadonlyMap<string, readonly string[]>,
): DraftUpstream[] {
  const weights = weightsOf(deployments)
  const accounts = new Map<string, Account>()
  for (const deployment of deployments) {
    const { host, credential, group, upstreamModel, priority, maxConcurrency } = deployment
    const key = JSON.stringify([host, credential])
    const account = accounts.get(key) ?? { first: deployment, models: [], maxConcurrency: undefined }
    accounts.set(key, account)
    account.maxConcurrency = greater(account.maxConcurrency, maxConcurrency)
    for (const id of [group, ...(aliases.get(group) ?? [])]) {
      // The same deployment twice has twice the share.
      const same = account.models.find((one) => one.id === id && (one.upstream_model ?? one.id) === upstreamModel)
      const weight = (weights.get(deployment) ?? 1) + (same === undefined ? 0 : (same.weight ?? 1))
      const model = {
        id,
        ...(upstreamModel === id ? {} : { upstream_model: upstreamModel }),
        ...(weight === 1 ? {} : { weight }),
        ...(priority === 0 ? {} : { priority }),
      }
      if (same === undefined) account.models.push(model)
      else account.models.splice(account.models.indexOf(same), 1, model)
    }
  }
  return joined([...accounts.values()])
}

function joined(accounts: readonly Account[]): DraftUpstream[] {
  const ids = new Ids()
  const upstreams = new Map<string, DraftUpstream>()
  for (const { first, models, maxConcurrency } of accounts) {
    const { host, label, credential } = first
    const key: DraftKey | null =
      credential === null
        ? null
        : { credential, ...(maxConcurrency === undefined ? {} : { max_concurrency: maxConcurrency }) }
    const same = JSON.stringify([host, models, key === null])
    const known = upstreams.get(same)
    if (known !== undefined && key !== null) known.keys.push(key)
    else upstreams.set(same, { id: ids.make(label), ...host, keys: key === null ? [] : [key], models })
  }
  return [...upstreams.values()]
}

/**
 * The shares of deployments, as LiteLLM's simple-shuffle draws them: by the first of weight, rpm and tpm that the first deployment of
 * a model has. The smallest share of a model is 1.
 */
function weightsOf(deployments: readonly Deployment[]): ReadonlyMap<Deployment, number> {
  const weights = new Map<Deployment, number>()
  for (const [first, ...others] of groups(deployments)) {
    if (first === undefined) continue
    const by = SHARES.find((name) => first.shares[name] !== undefined)
    if (by === undefined || others.length === 0) continue
    const shares = [first, ...others].map((one) => one.shares[by] ?? 0)
    const least = Math.min(...shares.filter((share) => share > 0))
    for (const [at, one] of [first, ...others].entries()) {
      const share = shares[at] ?? 0
      weights.set(one, Number.isFinite(least) ? Math.round((share / least) * 100) / 100 : 1)
    }
  }
  return weights
}

function groups(deployments: readonly Deployment[]): ReadonlyArray<readonly Deployment[]> {
  const byName = new Map<string, Deployment[]>()
  for (const one of deployments) byName.set(one.group, [...(byName.get(one.group) ?? []), one])
  return [...byName.values()]
}

function greater(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : Math.max(a, b)
}
