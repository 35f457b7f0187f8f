import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import type { JsonObject } from '../core/json-object.ts'
import type { ModelFacts } from '../core/model-facts.ts'
import type { ModelGroup } from '../core/model-names.ts'
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

/** An upstream that was created by management, not by the configuration file. */
export interface StoredUpstream {
  readonly id: string
  /** Members as in the file, without id, headers and keys. Missing members have the file's defaults. */
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

/** The settings of a model that management has made. */
export interface StoredModel {
  readonly id: string
  /** Members as in the file, without id and provider, and with `deployments`. */
  readonly entry: JsonObject
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** A group of models that management has made. */
export interface StoredModelGroup extends ModelGroup {
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

/** A checked stored model, in the form that snapshots are made from. */
export interface SetModel {
  readonly facts: ModelFacts
  /** Null: the aliases of the catalogue stay. */
  readonly aliases: readonly string[] | null
  /** Null: the upstreams that list the model serve it. */
  readonly deployments: readonly ModelTarget[] | null
}

/** Settings of the configuration that apply to stored upstreams. */
export interface StoredTerms {
  readonly timeouts: UpstreamTimeouts
  readonly reach: UpstreamReach
}

/**
 * Throws ConfigError, with the path of the wrong member, for an entry that the configuration file could not hold either, and
 * for an address that {@link UpstreamReach} refuses.
 */
export function resolveStoredUpstream(stored: StoredUpstream, { timeouts, reach }: StoredTerms): UpstreamConfig {
  const { id, entry, headers, keys } = stored
  if (headers === null)
    fail(['headers'], 'the headers cannot be decrypted: they were encrypted with another secret; set them again')
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

/** Throws ConfigError, with the path of the wrong member. */
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

/** The entry with its defaults, checked by its schema as the file is. */
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
