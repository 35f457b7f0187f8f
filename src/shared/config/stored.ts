import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import type { JsonObject } from '../core/json-object.ts'
import type { ModelFacts } from '../core/model-facts.ts'
import { isServiceAccount } from '../core/service-account.ts'
import type { ServiceAccount } from '../core/service-account.ts'
import type { ModelTarget, UpstreamTimeouts } from '../core/snapshot.ts'
import type { UpstreamReach } from '../core/upstream-reach.ts'
import { factsOfEntry, modelEntry } from './catalogue.ts'
import { findProblem } from './check.ts'
import { ConfigError, type Path } from './config-error.ts'
import { priority, upstreamEntry, weight, type UpstreamEntry } from './schema.ts'
import type { UpstreamConfig } from './shape.ts'
import { resolveUpstream } from './upstreams.ts'

/** An upstream that was made by management, not by the configuration file. */
export interface StoredUpstream {
  readonly id: string
  /** Members as in the file, but for id, headers and keys; what they leave out has the file's defaults. */
  readonly entry: JsonObject
  /** Null: they were sealed with another secret. */
  readonly headers: Readonly<Record<string, string>> | null
  readonly enabled: boolean
  /** The oldest first. */
  readonly keys: readonly StoredUpstreamKey[]
  readonly createdAt: Date
  readonly updatedAt: Date
}

export interface StoredUpstreamKey {
  readonly id: string
  readonly upstreamId: string
  readonly name: string
  /** Null: it was sealed with another secret. */
  readonly credential: string | null
  /** The end of the credential. */
  readonly masked: string
  readonly weight: number
  readonly priority: number
  readonly maxConcurrency: number
  readonly enabled: boolean
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** What management has set of a model. */
export interface StoredModel {
  readonly id: string
  /** Members as in the file, but for id and provider, and `deployments`. */
  readonly entry: JsonObject
  readonly createdAt: Date
  readonly updatedAt: Date
}

const deployment = Type.Object(
  {
    upstream: Type.String({ minLength: 1, maxLength: 64 }),
    upstream_model: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    weight,
    priority,
  },
  { additionalProperties: false },
)

const { provider: _, ...modelProperties } = modelEntry.properties

const storedModelEntry = Type.Object(
  { ...modelProperties, deployments: Type.Optional(Type.Array(deployment, { minItems: 1 })) },
  { additionalProperties: false },
)

/** A stored model in the form that snapshots are made of. */
export interface SetModel {
  readonly facts: ModelFacts
  /** Null: those of the models that are known by this name otherwise. */
  readonly aliases: readonly string[] | null
  /** Null: whoever serves it otherwise. */
  readonly deployments: readonly ModelTarget[] | null
}

/** Settings of the configuration that apply to stored upstreams. */
export interface StoredTerms {
  readonly timeouts: UpstreamTimeouts
  readonly reach: UpstreamReach
}

/**
 * Throws ConfigError, with the path of the member that is wrong, for what the configuration file could not say either, and for
 * addresses that are out of reach.
 */
export function resolveStoredUpstream(stored: StoredUpstream, { timeouts, reach }: StoredTerms): UpstreamConfig {
  const { id, entry, headers, keys } = stored
  if (headers === null) fail(['headers'], 'the headers cannot be opened: they were sealed with another secret')
  const asInFile = { ...entry, id, headers: headers ?? {}, keys: keys.flatMap(keyEntry) }
  const upstream = resolveUpstream(checked<UpstreamEntry>(upstreamEntry, asInFile), [], timeouts, fail)
  const refusal = reach.refusalOf(new URL(upstream.baseUrl))
  if (refusal !== null) fail(['base_url'], `base_url of upstream ${id} ${refusal}`)
  for (const [index, { credential }] of upstream.keys.entries()) {
    if (!isServiceAccount(credential)) continue
    const { token_uri: address } = JSON.parse(credential) as ServiceAccount
    const reason = reach.refusalOf(new URL(address))
    if (reason !== null) fail(['keys', index, 'credential'], `keys[${index}].credential: its token_uri ${reason}`)
  }
  return { ...upstream, publicOnly: true }
}

/** Throws ConfigError likewise. */
export function resolveStoredModel({ id, entry }: Pick<StoredModel, 'id' | 'entry'>): SetModel {
  const { deployments, ...about } = checked<Static<typeof storedModelEntry>>(storedModelEntry, { ...entry, id })
  const facts = factsOfEntry(about, [], fail)
  return {
    facts: { ...facts, overrides: true },
    aliases: about.aliases ?? null,
    deployments:
      deployments?.map((one, index) => {
        const upstreamModel = one.upstream_model ?? id
        if (/\*./.test(upstreamModel)) {
          fail(['deployments', index, 'upstream_model'], 'a "*" may only be the last character of a model id')
        }
        if (upstreamModel.endsWith('*') && !id.endsWith('*')) {
          fail(['deployments', index, 'upstream_model'], 'upstream_model may end in "*" only when the id does')
        }
        return { providerId: one.upstream, upstreamModel, weight: one.weight, priority: one.priority }
      }) ?? null,
  }
}

/** With defaults. The schema stands for what is in it, as with the file. */
function checked<Entry>(schema: typeof upstreamEntry | typeof storedModelEntry, raw: JsonObject): Entry {
  const complete: unknown = Value.Default(schema, structuredClone(raw))
  const problem = findProblem(schema, complete)
  if (problem !== null) fail(problem.path, problem.message)
  return complete as Entry
}

function keyEntry({ credential, ...key }: StoredUpstreamKey): JsonObject[] {
  if (credential === null) return []
  const { id, name, weight: share, priority: rank, maxConcurrency, enabled } = key
  return [{ id, name, credential, weight: share, priority: rank, max_concurrency: maxConcurrency, enabled }]
}

function fail(path: Path, message: string): never {
  throw new ConfigError(message, {}, path)
}
