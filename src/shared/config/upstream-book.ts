import type { ModelFacts } from '../core/model-facts.ts'
import type { CatalogueNames, ModelGroup } from '../core/model-names.ts'
import type { UpstreamTimeouts } from '../core/snapshot.ts'
import type { UpstreamReach } from '../core/upstream-reach.ts'
import { ConfigError } from './config-error.ts'
import type { UpstreamConfig } from './shape.ts'
import { toSnapshotParts } from './snapshot-parts.ts'
import type { SnapshotParts } from './snapshot-parts.ts'
import { resolveStoredModel, resolveStoredUpstream } from './stored.ts'
import type { SetModel, StoredModel, StoredModelGroup, StoredUpstream, StoredUpstreamKey } from './stored.ts'

/** The upstreams, models and groups of models of the database. */
export interface Stored {
  readonly upstreams: readonly StoredUpstream[]
  readonly models: readonly StoredModel[]
  /** Absent: none. */
  readonly groups?: readonly StoredModelGroup[]
}

/** `unreadable`: its credential was sealed with another secret; `shadowed`: the configuration has a key of this id. */
export type KeyState = 'active' | 'disabled' | 'unreadable' | 'shadowed'
/** `invalid`: the configuration file could not hold it either, see `problem`. */
export type UpstreamState = 'active' | 'disabled' | 'invalid' | 'shadowed'

export interface BookedUpstream {
  readonly stored: StoredUpstream
  readonly state: UpstreamState
  readonly problem: string | null
  /** With the keys that are in use; null when it is invalid. */
  readonly config: UpstreamConfig | null
  readonly keyStates: ReadonlyMap<string, KeyState>
}

export interface BookedModel {
  readonly stored: StoredModel
  /** Null when it is invalid. */
  readonly set: SetModel | null
  readonly problem: string | null
}

/** The configuration and the database, merged. */
export interface Book {
  readonly upstreams: readonly BookedUpstream[]
  readonly models: readonly BookedModel[]
  readonly parts: SnapshotParts
  readonly names: CatalogueNames
  /** The entries of the database that are left out, each with the reason. */
  readonly problems: readonly string[]
}

export interface BookOptions {
  /** Upstreams of the file and the environment. */
  readonly upstreams: readonly UpstreamConfig[]
  readonly simulated: readonly UpstreamConfig[]
  readonly facts: readonly ModelFacts[]
  /** Groups of models of the file. */
  readonly groups: readonly ModelGroup[]
  readonly timeouts: UpstreamTimeouts
  readonly reach: UpstreamReach
}

/** Merges stored upstreams and models with the configuration, which wins where both have an id. */
export class UpstreamBook {
  readonly simulated: readonly UpstreamConfig[]
  readonly reach: UpstreamReach
  #configured: readonly UpstreamConfig[]
  #timeouts: UpstreamTimeouts
  #facts: readonly ModelFacts[]
  #groups: readonly ModelGroup[]

  constructor({ upstreams, simulated, facts, groups, timeouts, reach }: BookOptions) {
    this.#configured = upstreams
    this.simulated = simulated
    this.#groups = groups
    this.#timeouts = timeouts
    this.reach = reach
    this.#facts = facts
  }

  get configured(): readonly UpstreamConfig[] {
    return this.#configured
  }

  /** Groups of models of the configuration. */
  get groups(): readonly ModelGroup[] {
    return this.#groups
  }

  get timeouts(): UpstreamTimeouts {
    return this.#timeouts
  }

  /** Takes another configuration, which `merge` then uses. Returns what goes back to the one before. */
  configure({ upstreams, facts, groups, timeouts }: Omit<BookOptions, 'simulated' | 'reach'>): () => void {
    const before = { upstreams: this.#configured, facts: this.#facts, groups: this.#groups, timeouts: this.#timeouts }
    this.#configured = upstreams
    this.#facts = facts
    this.#groups = groups
    this.#timeouts = timeouts
    return () => {
      this.configure(before)
    }
  }

  /** Never throws because of a stored entry: leaves out one that cannot be used, and reports it in `problems`. */
  merge(stored: Stored): Book {
    const fixed = [...this.configured, ...this.simulated]
    const upstreamIds = new Set(fixed.map(({ id }) => id))
    const keyIds = new Set(fixed.flatMap(({ keys }) => keys.map(({ id }) => id)))
    const upstreams = stored.upstreams.map((one) => this.#booked(one, upstreamIds, keyIds))
    const models = stored.models.map(bookedModel)
    const used = upstreams.flatMap(({ state, config }) => {
      if (config === null || state === 'shadowed') return []
      return [state === 'active' ? config : withoutNewRequests(config)]
    })
    const parts = toSnapshotParts({
      upstreams: [...fixed, ...used],
      models: this.#facts,
      set: models.flatMap(({ set }) => (set === null ? [] : [set])),
    })
    const ofFile = new Set(this.groups.map(({ id }) => id))
    const [shadowed, groups] = partition(stored.groups ?? [], ({ id }) => ofFile.has(id))
    return {
      upstreams,
      models,
      parts,
      names: {
        aliases: [...parts.aliases],
        groups: [...this.groups, ...groups.map((group) => ({ id: group.id, models: group.models }))],
      },
      problems: [
        ...shadowed.map(
          ({ id }) => `group of models ${id}: the configuration has a group of this id, which is used instead`,
        ),
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

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): [T[], T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))]
}

/** @param inUse ids of the keys that are in use; null: not known, because the upstream is invalid */
function keyState({ id, credential, enabled }: StoredUpstreamKey, inUse: ReadonlySet<string> | null): KeyState {
  if (credential === null) return 'unreadable'
  if (inUse !== null && !inUse.has(id)) return 'shadowed'
  return enabled ? 'active' : 'disabled'
}

/** Keeps the upstream for polls of its running jobs, without models and enabled keys: it gets no new requests. */
function withoutNewRequests(config: UpstreamConfig): UpstreamConfig {
  return { ...config, models: [], keys: config.keys.map((key) => ({ ...key, enabled: false })) }
}

function problemsOf({ stored, problem, keyStates }: BookedUpstream): string[] {
  if (problem !== null) return [`upstream ${stored.id}: ${problem}`]
  return [...keyStates].flatMap(([id, state]) => {
    if (state === 'unreadable')
      return [`upstream key ${id}: its credential was encrypted with another secret; set it again`]
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
