import { escaped, setAt } from '../draft.ts'
import type { DraftConfig, Remarks } from '../draft.ts'
import { readChannels, upstreamsOf } from './channels.ts'
import { GROUP_OPTIONS } from './groups.ts'
import { numbersOf, pricesOf, quotaPerUsd } from './prices.ts'
import type { Options } from './prices.ts'
import { TABLES, text } from './rows.ts'
import type { Source } from './source.ts'
import { keysOf } from './tokens.ts'

const PRICES = 'Sluice has prices of tokens for prompts, answers and prompt caches alone'

/** Options that decide what clients get, and that Sluice lacks. */
const LOST: Readonly<Record<string, string>> = {
  GroupGroupRatio: 'prices are the same for all groups',
  ImageRatio: PRICES,
  AudioRatio: PRICES,
  AudioCompletionRatio: PRICES,
  SensitiveWords: 'Sluice has no filter of words',
  ModelRequestRateLimitCount: 'set limits.user_defaults, or rpm of keys',
  ModelRequestRateLimitSuccessCount: 'set limits.user_defaults, or rpm of keys',
  ModelRequestRateLimitGroup: 'set limits.user_defaults, or rpm of keys',
  ChannelDisableThreshold: "a key's breaker opens after five failures in a row",
  AutomaticDisableKeywords: "a key's breaker opens after five failures in a row",
}
const READ = ['ModelRatio', 'CompletionRatio', 'ModelPrice', 'CacheRatio', 'CreateCacheRatio', 'GroupRatio'].concat([
  'QuotaPerUnit',
  'RetryTimes',
  ...GROUP_OPTIONS,
])
/** Switches of options in `LOST`: an option that is off loses nothing. */
const SWITCHES: Readonly<Record<string, string>> = {
  SensitiveWords: 'CheckSensitiveEnabled',
  ModelRequestRateLimitCount: 'ModelRequestRateLimitEnabled',
  ModelRequestRateLimitSuccessCount: 'ModelRequestRateLimitEnabled',
  ModelRequestRateLimitGroup: 'ModelRequestRateLimitEnabled',
  ChannelDisableThreshold: 'AutomaticDisableChannelEnabled',
  AutomaticDisableKeywords: 'AutomaticDisableChannelEnabled',
}

/** The configuration of Sluice for a database of new-api. */
export function fromNewApi({ tables }: Source, nowMs: number, remarks: Remarks): DraftConfig {
  for (const table of TABLES) if (!tables.has(table)) remarks.lose(table, 'the source has no such table')
  const channels = readChannels(tables.get('channels') ?? [], remarks)
  const draft: DraftConfig = { upstreams: upstreamsOf(channels, remarks) }
  const options: Options = new Map((tables.get('options') ?? []).map((row) => [text(row, 'key'), text(row, 'value')]))
  const prices = pricesOf(channels, options, remarks)
  if (prices.length > 0) draft['models'] = prices
  const users = tables.get('users') ?? []
  const context = { users, channels, options, quotaPerUsd: quotaPerUsd(options), nowMs, remarks }
  const keys = keysOf(tables.get('tokens') ?? [], context)
  if (keys.length > 0) draft['keys'] = keys
  readOptions(options, draft, remarks)
  return literal(draft)
}

function readOptions(options: Options, draft: DraftConfig, remarks: Remarks): void {
  const retries = Number(options.get('RetryTimes') ?? '')
  if (options.has('RetryTimes') && Number.isInteger(retries) && retries >= 0) {
    setAt(draft, ['upstream', 'max_attempts'], Math.min(10, retries + 1))
    if (retries > 9) remarks.change('options.RetryTimes', 'Sluice makes 10 attempts at most')
  }
  for (const [group, ratio] of numbersOf(options, 'GroupRatio', remarks)) {
    if (ratio === 1) continue
    remarks.lose(
      `options.GroupRatio.${group}`,
      `prices are the same for all groups: its requests cost ${ratio} times as much in new-api`,
    )
  }
  const others: string[] = []
  for (const [name, value] of options) {
    const reason = LOST[name]
    if (reason === undefined) {
      const isRead = READ.includes(name) || Object.values(SWITCHES).includes(name)
      if (!isRead && value !== '') others.push(name)
      continue
    }
    const by = SWITCHES[name]
    const isOff = by !== undefined && options.get(by) !== 'true'
    if (!isOff && !/^(\s*|0|\{\s*\}|null)$/.test(value)) remarks.lose(`options.${name}`, reason)
  }
  if (others.length > 0) {
    remarks.lose('options', `not read, because Sluice has no such settings: ${others.sort().join(', ')}`)
  }
}

/** Texts of the database are no references to the environment. */
function literal<T>(value: T): T {
  if (typeof value === 'string') return escaped(value) as T
  if (Array.isArray(value)) return value.map((one: unknown) => literal(one)) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, literal(member as unknown)])) as T
}
