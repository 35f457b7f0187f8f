import type { ModelFacts } from '../core/model-facts.ts'
import type { UpstreamTimeouts } from '../core/snapshot.ts'
import type { UpstreamReach } from '../core/upstream-reach.ts'
import { ConfigError } from './config-error.ts'
import type { UpstreamConfig } from './shape.ts'
import { toSnapshotParts } from './snapshot-parts.ts'
import type { SnapshotParts } from './snapshot-parts.ts'
import { resolveStoredModel, resolveStoredUpstream } from './stored.ts'
import type { SetModel, StoredModel, StoredUpstream, StoredUpstreamKey } from './stored.ts'

/** What is in the database of upstreams and models. */
export interface Stored {
  readonly upstreams: readonly StoredUpstream[]
  readonly models: readonly StoredModel[]
}

/** `unreadable`: its credential was sealed with another secret; `shadowed`: the configuration has one of this id. */
export type KeyState = 'active' | 'disabled' | 'unreadable' | 'shadowed'
/** `invalid`: it could not stand in the configuration file, see `problem`. */
export type UpstreamState = 'active' | 'disabled' | 'invalid' | 'shadowed'

export interface BookedUpstream {
  readonly stored: StoredUpstream
  readonly state: UpstreamState
  readonly problem: string | null
  /** With the keys that are in use; null where it is invalid. */
  readonly config: UpstreamConfig | null
  readonly keyStates: ReadonlyMap<string, KeyState>
}

export interface BookedModel {
  readonly stored: StoredModel
  /** Null where it is not valid. */
  readonly set: SetModel | null
  readonly problem: string | null
}

/** What configuration and database say together. */
export interface Book {
  readonly upstreams: readonly BookedUpstream[]
  readonly models: readonly BookedModel[]
  readonly parts: SnapshotParts
  /** What of the database is left out, and why. */
  readonly problems: readonly string[]
}

export interface BookOptions {
  /** Of the file and the environment. */
  readonly upstreams: readonly UpstreamConfig[]
  readonly simulated: readonly UpstreamConfig[]
  readonly facts: readonly ModelFacts[]
  readonly timeouts: UpstreamTimeouts
  readonly reach: UpstreamReach
}

/** Puts what is stored beside what is configured: ids that the configuration has are its own. */
export class UpstreamBook {
  readonly configured: readonly UpstreamConfig[]
  readonly simulated: readonly UpstreamConfig[]
  readonly timeouts: UpstreamTimeouts
  readonly reach: UpstreamReach
  readonly #facts: readonly ModelFacts[]

  constructor({ upstreams, simulated, facts, timeouts, reach }: BookOptions) {
    this.configured = upstreams
    this.simulated = simulated
    this.timeouts = timeouts
    this.reach = reach
    this.#facts = facts
  }

  /** Never throws for what is stored: what cannot be used is left out and told of. */
  merge(stored: Stored): Book {
    const fixed = [...this.configured, ...this.simulated]
    const upstreamIds = new Set(fixed.map(({ id }) => id))
    const keyIds = new Set(fixed.flatMap(({ keys }) => keys.map(({ id }) => id)))
    const upstreams = stored.upstreams.map((one) => this.#booked(one, upstreamIds, keyIds))
    const models = stored.models.map(bookedModel)
    const used = upstreams.flatMap(({ state, config }) => {
      if (config === null || state === 'shadowed') return []
      return [state === 'active' ? config : resting(config)]
    })
    return {
      upstreams,
      models,
      parts: toSnapshotParts({
        upstreams: [...fixed, ...used],
        models: this.#facts,
        set: models.flatMap(({ set }) => (set === null ? [] : [set])),
      }),
      problems: [
        ...upstreams.flatMap(problemsOf),
        ...models.flatMap((model) => (model.problem === null ? [] : [`model ${model.stored.id}: ${model.problem}`])),
      ],
    }
  }

  #booked(stored: StoredUpstream, upstreamIds: ReadonlySet<string>, keyIds: Set<string>): BookedUpstream {
    const { id, enabled, keys } = stored
    const shadowed = upstreamIds.has(id)
    try {
      const { keys: resolved, ...config } = resolveStoredUpstream(stored, this)
      const free = shadowed ? [] : resolved.filter((key) => !keyIds.has(key.id))
      for (const key of free) keyIds.add(key.id)
      const inUse = new Set(free.map((key) => key.id))
      return {
        stored,
        state: shadowed ? 'shadowed' : enabled ? 'active' : 'disabled',
        problem: shadowed ? 'the configuration has an upstream of this id, which is used instead' : null,
        config: { ...config, keys: free },
        keyStates: new Map(keys.map((key) => [key.id, keyState(key, inUse)])),
      }
    } catch (cause) {
      const keyStates = new Map(keys.map((key) => [key.id, keyState(key, null)]))
      return { stored, state: 'invalid', problem: reasonOf(cause), config: null, keyStates }
    }
  }
}

/** @param inUse null: nobody has looked */
function keyState({ id, credential, enabled }: StoredUpstreamKey, inUse: ReadonlySet<string> | null): KeyState {
  if (credential === null) return 'unreadable'
  if (inUse !== null && !inUse.has(id)) return 'shadowed'
  return enabled ? 'active' : 'disabled'
}

/** What was begun there can still be looked at; nothing new is. */
function resting(config: UpstreamConfig): UpstreamConfig {
  return { ...config, models: [], keys: config.keys.map((key) => ({ ...key, enabled: false })) }
}

function problemsOf({ stored, problem, keyStates }: BookedUpstream): string[] {
  if (problem !== null) return [`upstream ${stored.id}: ${problem}`]
  return [...keyStates].flatMap(([id, state]) => {
    if (state === 'unreadable') return [`upstream key ${id}: its credential was sealed with another secret`]
    return state === 'shadowed' ? [`upstream key ${id}: another key has this id`] : []
  })
}

function bookedModel(stored: StoredModel): BookedModel {
  try {
    return { stored, set: resolveStoredModel(stored), problem: null }
  } catch (cause) {
    return { stored, set: null, problem: reasonOf(cause) }
  }
}

function reasonOf(cause: unknown): string {
  if (cause instanceof ConfigError) return cause.message
  throw cause
}
