import { Ids } from '../draft.ts'
import type { DraftKey, DraftModel, DraftUpstream, Remarks } from '../draft.ts'
import { isDeleted, json, list, number, objectOf, placeOf, text } from './rows.ts'
import type { Row } from './rows.ts'
import { targetsOf } from './targets.ts'
import type { ChannelKey, Host, Target } from './targets.ts'

/** A channel that Sluice can call. */
export interface Channel {
  readonly place: string
  readonly name: string
  readonly groups: readonly string[]
  readonly priority: number
  readonly weight: number
  /** Positions of the keys that are off. */
  readonly off: ReadonlySet<number>
  readonly isOff: boolean
  readonly hosts: readonly ChannelHost[]
}

export interface ChannelHost {
  readonly host: Host
  readonly label: string
  readonly credentials: ReadonlyMap<number, string>
  /** Names of clients, with the names at the host. */
  readonly models: ReadonlyMap<string, string>
}

const ENABLED = 1
const AUTOMATICALLY_DISABLED = 3
const NO_FIELDS = 'Sluice adds no fields to requests'
const TRANSLATES = 'Sluice translates requests and answers where an upstream needs it'

/** Extra settings of a channel, in the column "setting". */
const SETTINGS: Readonly<Record<string, string>> = {
  proxy: 'Sluice calls upstreams without a proxy: the host would be called directly',
  system_prompt: NO_FIELDS,
  system_prompt_override: NO_FIELDS,
  force_format: TRANSLATES,
  thinking_to_content: TRANSLATES,
  pass_through_body_enabled: TRANSLATES,
}

export function readChannels(rows: readonly Row[], remarks: Remarks): Channel[] {
  const channels = rows.flatMap((row): Channel[] => {
    const channel = isDeleted(row) ? null : readChannel(row, remarks)
    return channel === null ? [] : [channel]
  })
  tellGroups(channels, remarks)
  return channels
}

function readChannel(row: Row, remarks: Remarks): Channel | null {
  const place = placeOf('channels', row)
  const name = text(row, 'name').trim()
  const keys = keysOf(row)
  const targets = targetsOf(row, keys)
  if (isNone(targets)) {
    remarks.lose(`${place}.${targets.column}`, `the channel "${name}" is left out: ${targets.reason}`)
    return null
  }
  const models = modelsOf(row, place, remarks)
  const hosts = targets.map((target) => hostOf(target, models, headersOf(row, target.host, place, remarks)))
  const served = new Set(hosts.flatMap((host) => [...host.models.keys()]))
  for (const model of models.keys()) {
    if (!served.has(model)) remarks.lose(`${place}.models`, `no host of the channel serves "${model}"`)
  }
  if (served.size === 0) {
    remarks.lose(`${place}.models`, `the channel "${name}" is left out: it has no models`)
    return null
  }
  const status = number(row, 'status')
  const isOff = status !== ENABLED
  if (isOff && keys.length === 0) {
    remarks.lose(`${place}.status`, `the channel "${name}" is left out: it is off, and Sluice can turn off only keys`)
    return null
  }
  if (status === AUTOMATICALLY_DISABLED) {
    remarks.change(`${place}.status`, 'new-api turned the channel off after failures: its keys are off in Sluice too')
  }
  const changed = targets.find((target) => target.changed !== undefined)?.changed
  if (changed !== undefined) remarks.change(`${place}.${changed[0]}`, changed[1])
  tellSettings(row, place, remarks)
  return {
    place,
    name,
    groups: list(text(row, 'group'), ','),
    priority: number(row, 'priority'),
    weight: Math.max(0, number(row, 'weight')),
    off: offKeys(row),
    isOff,
    hosts: hosts.filter((host) => host.models.size > 0),
  }
}

function isNone<T extends object>(targets: readonly Target[] | T): targets is T {
  return !Array.isArray(targets)
}

function hostOf(target: Target, models: ReadonlyMap<string, string>, headers: Record<string, string>): ChannelHost {
  const named = [...models].flatMap(([id, sent]): Array<[string, string]> => {
    const upstreamModel = target.modelOf(sent)
    return upstreamModel === null ? [] : [[id, upstreamModel]]
  })
  return {
    host: Object.keys(headers).length === 0 ? target.host : { ...target.host, headers },
    label: target.label,
    credentials: target.credentials,
    models: new Map(named),
  }
}

/** Several keys are lines, or the members of a JSON list. The JSON of one service account may have several lines. */
function keysOf(row: Row): ChannelKey[] {
  const whole = text(row, 'key').trim()
  const values = whole.startsWith('[') ? listOf(whole) : whole.startsWith('{') ? [whole] : whole.split('\n')
  return values.map((value, index) => ({ index, value: value.trim() })).filter(({ value }) => value !== '')
}

function listOf(source: string): string[] {
  try {
    const values: unknown = JSON.parse(source)
    if (!Array.isArray(values)) return [source]
    return values.map((value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value)))
  } catch {
    return source.split('\n')
  }
}

function offKeys(row: Row): ReadonlySet<number> {
  const states = json(row, 'channel_info')['multi_key_status_list']
  const entries = typeof states === 'object' && states !== null ? Object.entries(states) : []
  return new Set(entries.filter(([, state]) => state !== ENABLED).map(([index]) => Number(index)))
}

/** Names of clients, with the names that the channel sends. A mapping may lead to a name that is mapped itself. */
function modelsOf(row: Row, place: string, remarks: Remarks): ReadonlyMap<string, string> {
  const source = text(row, 'model_mapping').trim()
  const mapping = objectOf(source)
  if (source !== '' && source !== '{}' && Object.keys(mapping).length === 0) {
    remarks.lose(`${place}.model_mapping`, 'is not a JSON object')
  }
  const models = new Map<string, string>()
  for (const id of list(text(row, 'models'), ',')) {
    const seen = new Set<string>()
    let name = id
    for (let next = mapping[name]; typeof next === 'string' && next !== '' && !seen.has(next); next = mapping[name]) {
      seen.add(next)
      name = next
    }
    if (id.length > 256 || name.length > 256 || id.slice(0, -1).includes('*')) {
      remarks.lose(`${place}.models`, `"${id}" is no name of a model in Sluice`)
    } else models.set(id, name)
  }
  return models
}

function headersOf(row: Row, host: Host, place: string, remarks: Remarks): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(json(row, 'header_override'))) {
    const at = `${place}.header_override.${name}`
    if (/^(authorization|x-api-key|api-key|x-goog-api-key)$/i.test(name)) {
      remarks.lose(at, 'the header belongs to the credential')
    } else if (typeof value !== 'string' || value.includes('{')) {
      remarks.lose(at, 'Sluice sends headers with fixed values')
    } else headers[name.toLowerCase()] = value
  }
  const organization = text(row, 'openai_organization').trim()
  if (organization !== '' && host.provider === 'openai') headers['openai-organization'] = organization
  return headers
}

function tellSettings(row: Row, place: string, remarks: Remarks): void {
  for (const [column, reason] of [
    ['param_override', NO_FIELDS],
    ['status_code_mapping', 'src/front/gateway/failure-rules.ts decides what comes of the failures of an upstream'],
  ] as const) {
    const value = row[column]
    if (value !== null && typeof value === 'object' && Object.keys(value).length === 0) continue
    if (!/^(\s*|null|\{\s*\})$/.test(typeof value === 'object' ? JSON.stringify(value) : text(row, column))) {
      remarks.lose(`${place}.${column}`, reason)
    }
  }
  for (const [name, value] of Object.entries(json(row, 'setting'))) {
    if (value === false || value === '' || value === null || value === 0) continue
    remarks.lose(`${place}.setting.${name}`, SETTINGS[name] ?? 'Sluice has no such setting')
  }
}

/** Channels of one model for different groups: Sluice does not route by groups. */
function tellGroups(channels: readonly Channel[], remarks: Remarks): void {
  const groups = new Map<string, Set<string>>()
  const groupsOf = (channel: Channel): string => [...channel.groups].sort().join(',')
  for (const channel of channels) {
    for (const model of idsOf(channel)) {
      groups.set(model, (groups.get(model) ?? new Set<string>()).add(groupsOf(channel)))
    }
  }
  for (const channel of channels) {
    const shared = idsOf(channel).filter((model) => (groups.get(model)?.size ?? 0) > 1)
    if (shared.length === 0) continue
    remarks.change(
      `${channel.place}.group`,
      `channels of other groups have the same models (${shared.slice(0, 3).join(', ')}${shared.length > 3 ? ', …' : ''}), and Sluice does not route by groups: keys of all these groups share the channels`,
    )
  }
}

/** Names by which clients ask for the models of a channel. */
export function idsOf(channel: Channel): string[] {
  return [...new Set(channel.hosts.flatMap((host) => [...host.models.keys()]))]
}

/** One upstream for each host of a channel. new-api uses the highest priority first, Sluice the lowest. */
export function upstreamsOf(channels: readonly Channel[], remarks: Remarks): DraftUpstream[] {
  const ids = new Ids()
  const ranks = [...new Set(channels.map(({ priority }) => priority))].sort((a, b) => b - a)
  const shares = sharesOf(channels, remarks)
  return channels.flatMap((channel) =>
    channel.hosts.map(({ host, label, credentials, models }): DraftUpstream => {
      const priority = ranks.indexOf(channel.priority)
      const id = ids.make(/[a-z0-9]/i.test(channel.name) ? channel.name : label)
      const weight = shares.get(channel) ?? 1
      const keys = [...credentials].map(([index, credential]): DraftKey => {
        const isOff = channel.isOff || channel.off.has(index)
        return { credential, ...(weight === 1 ? {} : { weight }), ...(isOff ? { enabled: false } : {}) }
      })
      return {
        id,
        ...(channel.name === '' || channel.name === id ? {} : { name: channel.name }),
        ...host,
        ...(priority === 0 ? {} : { priority }),
        keys,
        models: [...models].map(([name, upstreamModel]): DraftModel => ({
          id: name,
          ...(name === upstreamModel ? {} : { upstream_model: upstreamModel }),
        })),
      }
    }),
  )
}

/** The weight of each key of a channel: the keys share that of the channel. All channels without a weight have equal shares. */
function sharesOf(channels: readonly Channel[], remarks: Remarks): ReadonlyMap<Channel, number> {
  const given = channels.map(({ weight }) => weight).filter((weight) => weight > 0)
  const least = given.length === 0 ? 1 : Math.min(...given)
  const shares = new Map<Channel, number>()
  for (const channel of channels) {
    let weight = channel.weight / least
    if (channel.weight === 0) {
      weight = given.length === 0 ? 1 : 0.1
      if (given.length > 0) {
        remarks.change(`${channel.place}.weight`, 'others have a weight: this channel has a tenth of the smallest one')
      }
    }
    const keys = Math.max(1, ...channel.hosts.map(({ credentials }) => credentials.size))
    shares.set(channel, Math.max(0.001, Math.min(1_000_000, Math.round((weight / keys) * 1000) / 1000)))
  }
  const all = new Set(shares.values())
  return all.size === 1 ? new Map() : shares
}
