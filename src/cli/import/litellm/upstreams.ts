import { Ids } from '../draft.ts'
import type { DraftKey, DraftModel, DraftUpstream, Remarks } from '../draft.ts'
import { SHARES } from './deployments.ts'
import type { Deployment } from './deployments.ts'

/** One host with one credential, and the models that it serves. */
interface Account {
  readonly deployments: [Deployment, ...Deployment[]]
  readonly models: DraftModel[]
}

/**
 * Makes upstreams of deployments. Deployments of one host and credential share an upstream. Accounts of one host that serve the same
 * models become keys of one upstream.
 */
export function upstreamsOf(
  deployments: readonly Deployment[],
  aliases: ReadonlyMap<string, readonly string[]>,
  remarks: Remarks,
): DraftUpstream[] {
  const weights = weightsOf(deployments)
  const accounts = new Map<string, Account>()
  for (const deployment of deployments) {
    const { host, credential, group, upstreamModel, priority } = deployment
    const key = JSON.stringify([host, credential])
    const known = accounts.get(key)
    const account: Account = known ?? { deployments: [deployment], models: [] }
    if (known === undefined) accounts.set(key, account)
    else known.deployments.push(deployment)
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
  return joined([...accounts.values()], remarks)
}

function joined(accounts: readonly Account[], remarks: Remarks): DraftUpstream[] {
  const ids = new Ids()
  const upstreams = new Map<string, DraftUpstream>()
  for (const { deployments, models } of accounts) {
    const [{ host, label, credential }] = deployments
    const maxConcurrency = concurrencyOf(deployments, remarks)
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

/** The limit of the key that the deployments share. A deployment without a limit is not limited by those of others. */
function concurrencyOf(deployments: Account['deployments'], remarks: Remarks): number | undefined {
  const limits = deployments.flatMap(({ maxConcurrency }) => maxConcurrency ?? [])
  if (limits.length === 0) return undefined
  const sum = limits.reduce((total, limit) => total + limit, 0)
  const isLimited = limits.length === deployments.length && deployments[0].credential !== null
  for (const { path, maxConcurrency } of deployments) {
    if (maxConcurrency === undefined) continue
    const place = [...path, 'litellm_params', 'max_parallel_requests']
    if (deployments[0].credential === null) remarks.lose(place, 'limits are of keys, and the host takes none')
    else if (!isLimited)
      remarks.lose(place, 'the limit would hold for all deployments of its key, and others have none')
    else if (limits.length > 1) remarks.change(place, `max_concurrency of the key is ${sum}, for all deployments of it`)
  }
  return isLimited ? sum : undefined
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
