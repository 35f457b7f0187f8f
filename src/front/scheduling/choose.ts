import type { Choice, Standing } from '../../shared/core/deployment.ts'
import type { Candidate, Route } from './catalog.ts'
import { unitHash } from './hash.ts'
import type { KeyState } from './key-state.ts'
import type { SlotSupply } from './slot-supply.ts'

/** Affinity skips a key when more than this share of it is in use, and more than `BUSY_RATIO` times the mean share. */
const BUSY_FROM = 0.25
const BUSY_RATIO = 1.5
/** Affinity skips a key this many times slower than the others: its prompt cache cannot save as much. */
const SLOW_RATIO = 3
const SLOW_FROM_MS = 50
/** Times to the first byte that differ by a smaller factor do not change the score. */
const LATENCY_TOLERANCE = 1.5
/** Load of an idle key: above 0, so that latency and scarcity also rank idle keys. */
const IDLE_LOAD = 0.05
const MAX_OTHERS = 8

export interface ChoiceQuery {
  /** Ids of the keys that this request has tried. */
  readonly tried: ReadonlySet<string>
  /** Hash of `SlotRequest.affinity`; null: no affinity. */
  readonly affinity: number | null
  readonly nowMs: number
  readonly supply: SlotSupply
  readonly random: () => number
}

export interface Chosen {
  readonly candidate: Candidate
  readonly how: Choice['how']
  readonly score: number | null
}

/** Whether a key can take a request now (`open`), can take one as a probe (`probe`), or why it cannot. */
export function standingOf(key: KeyState, nowMs: number, supply: SlotSupply): Standing | 'open' | 'probe' {
  if (!key.enabled) return 'disabled'
  const own = key.breaker.state(nowMs)
  if (own === 'open' || own === 'probing') return key.unauthorised ? 'disabled' : 'breaker'
  const ofProvider = key.provider.breaker.state(nowMs)
  if (ofProvider === 'open' || ofProvider === 'probing') return 'breaker'
  if (key.coolingUntilMs > nowMs) return 'cooling'
  if (key.inFlight >= key.concurrency.limit || supply.free(key.id) < 1) return 'full'
  return own === 'closed' && ofProvider === 'closed' ? 'open' : 'probe'
}

/**
 * The best free key of the lowest priority that has a free one; null when no key is free. A key that is due for a probe
 * gets a request that has not been tried before, so that the request can still use another key.
 */
export function choose(route: Route, query: ChoiceQuery): Chosen | null {
  const { tried, nowMs, supply } = query
  let lastResort: Candidate | null = null
  for (let index = 0; index < route.length;) {
    const priority = route[index]?.priority
    const open: Candidate[] = []
    let probe: Candidate | null = null
    for (; index < route.length; index++) {
      const candidate = route[index]
      if (candidate === undefined || candidate.priority !== priority) break
      if (tried.has(candidate.key.id)) continue
      const standing = standingOf(candidate.key, nowMs, supply)
      if (standing === 'open') open.push(candidate)
      else if (standing === 'probe') probe ??= candidate
    }
    if (probe !== null && tried.size === 0) return { candidate: probe, how: 'probe', score: null }
    lastResort ??= probe
    if (open.length > 0) return pick(open, route.length, query)
  }
  return lastResort === null ? null : { candidate: lastResort, how: 'probe', score: null }
}

/** The other candidates for the log: the score of each, or why it was not usable. */
export function explain(route: Route, chosen: Chosen, query: ChoiceQuery): Choice['others'] {
  const others: Array<readonly [string, number | Standing]> = []
  for (const candidate of route) {
    if (candidate === chosen.candidate) continue
    if (others.length === MAX_OTHERS) break
    others.push([candidate.key.id, reasonAgainst(candidate, chosen.candidate, query)])
  }
  return others
}

function reasonAgainst(
  candidate: Candidate,
  chosen: Candidate,
  { tried, nowMs, supply }: ChoiceQuery,
): number | Standing {
  if (tried.has(candidate.key.id)) return 'tried'
  const standing = standingOf(candidate.key, nowMs, supply)
  if (standing === 'probe') return 'breaker'
  if (standing !== 'open') return standing
  return candidate.priority === chosen.priority ? rounded(loadOf(candidate, nowMs, supply)) : 'priority'
}

function pick(open: readonly Candidate[], choices: number, query: ChoiceQuery): Chosen {
  const [first] = open
  if (first !== undefined && open.length === 1) {
    return { candidate: first, how: choices === 1 ? 'only' : 'load', score: null }
  }
  const preferred = query.affinity === null ? null : byAffinity(open, query.affinity, query)
  if (preferred !== null) return { candidate: preferred, how: 'affinity', score: null }
  return byLoad(open, query)
}

/** Draws two keys by weight, possibly the same one twice, and takes the one with the lower score. */
function byLoad(open: readonly Candidate[], { nowMs, supply, random }: ChoiceQuery): Chosen {
  const first = byWeight(open, random())
  const second = byWeight(open, random())
  const fastestMs = fastest(open, nowMs)
  const firstScore = scoreOf(first, fastestMs, nowMs, supply)
  const secondScore = first === second ? firstScore : scoreOf(second, fastestMs, nowMs, supply)
  return secondScore < firstScore
    ? { candidate: second, how: 'load', score: rounded(secondScore) }
    : { candidate: first, how: 'load', score: rounded(firstScore) }
}

function byWeight(open: readonly Candidate[], point: number): Candidate {
  let total = 0
  for (const { weight } of open) total += weight
  let left = point * total
  for (const candidate of open) {
    left -= candidate.weight
    if (left < 0) return candidate
  }
  return open[open.length - 1] as Candidate
}

/**
 * Weighted rendezvous hashing: every process finds the same key for a conversation. When a key comes or goes, only its own
 * conversations move. A key that is much busier or slower than the others is skipped.
 */
function byAffinity(open: readonly Candidate[], affinity: number, { nowMs, supply }: ChoiceQuery): Candidate | null {
  let inFlight = 0
  let capacity = 0
  let known = 0
  let latencyMs = 0
  for (const candidate of open) {
    const { key } = candidate
    inFlight += key.inFlight
    capacity += capacityOf(candidate, supply)
    const ownMs = key.latency.at(nowMs)
    if (ownMs > 0) known += 1
    latencyMs += ownMs
  }
  const busyFrom = Math.max(BUSY_FROM, (BUSY_RATIO * inFlight) / capacity)
  let best: Candidate | null = null
  let bestRank = -Infinity
  for (const candidate of open) {
    const { key, weight } = candidate
    if (key.inFlight > 0 && key.inFlight / capacityOf(candidate, supply) > busyFrom) continue
    const ownMs = key.latency.at(nowMs)
    const isSlow = known > 1 && ownMs > SLOW_FROM_MS && ownMs > (SLOW_RATIO * (latencyMs - ownMs)) / (known - 1)
    if (isSlow) continue
    // The key with the largest u^(1/weight) wins; compared by logarithm.
    const rank = Math.log(unitHash(key.hash, affinity)) / weight
    if (rank > bestRank) {
      best = candidate
      bestRank = rank
    }
  }
  return best
}

/** The lowest known latency, milliseconds; 0 when none is known. */
function fastest(candidates: readonly Candidate[], nowMs: number): number {
  let least = Infinity
  for (const { key } of candidates) {
    const latencyMs = key.latency.at(nowMs)
    if (latencyMs > 0 && latencyMs < least) least = latencyMs
  }
  return least === Infinity ? 0 : least
}

function scoreOf(candidate: Candidate, fastestMs: number, nowMs: number, supply: SlotSupply): number {
  const latencyMs = candidate.key.latency.at(nowMs)
  const slowness = fastestMs > 0 ? Math.max(1, latencyMs / (LATENCY_TOLERANCE * fastestMs)) : 1
  return loadOf(candidate, nowMs, supply) * slowness
}

/** In flight ÷ capacity, weighted; higher when the provider reports that little is left. */
function loadOf(candidate: Candidate, nowMs: number, supply: SlotSupply): number {
  const { key, share } = candidate
  return (IDLE_LOAD + key.inFlight / (capacityOf(candidate, supply) * share)) * key.scarcity(nowMs)
}

function capacityOf({ key }: Candidate, supply: SlotSupply): number {
  return Math.max(1, Math.min(supply.held(key.id), key.concurrency.limit))
}

function rounded(score: number): number {
  return Math.round(score * 1000) / 1000
}
