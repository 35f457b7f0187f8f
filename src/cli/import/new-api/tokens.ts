import { isAddressRange } from '../../../shared/config/address.ts'
import { generateApiKey, isApiKey } from '../../../shared/core/api-key.ts'
import type { Remarks } from '../draft.ts'
import { idsOf } from './channels.ts'
import type { Channel } from './channels.ts'
import { autoGroupsOf } from './groups.ts'
import type { Options } from './prices.ts'
import { flag, isDeleted, list, number, placeOf, text } from './rows.ts'
import type { Row } from './rows.ts'

/** An entry of `keys:` of the configuration. */
export interface DraftEntryKey {
  readonly name: string
  readonly key: string
  readonly enabled?: false
  readonly expires_at?: string
  readonly monthly_budget?: number
  readonly models?: readonly string[]
  readonly ip_allow?: readonly string[]
}

export interface TokenContext {
  readonly users: readonly Row[]
  readonly channels: readonly Channel[]
  readonly options: Options
  readonly quotaPerUsd: number
  readonly nowMs: number
  readonly remarks: Remarks
}

const ENABLED = 1
const EXPIRED = 3
const EXHAUSTED = 4

/**
 * Makes an entry key of each token. Sluice accepts keys of its own form alone, so that a new key takes the place of a token. What is
 * left of the quota becomes the budget of the key.
 */
export function keysOf(tokens: readonly Row[], context: TokenContext): DraftEntryKey[] {
  const { users, remarks } = context
  const owners = new Map(users.filter((user) => !isDeleted(user)).map((user) => [text(user, 'id'), user]))
  const keys: DraftEntryKey[] = []
  const counts = new Map<Row, number>()
  for (const token of tokens) {
    if (isDeleted(token)) continue
    const owner = owners.get(text(token, 'user_id'))
    const key = keyOf(token, owner, { ...context, position: keys.length })
    if (key === null) continue
    keys.push(key)
    if (owner !== undefined) counts.set(owner, (counts.get(owner) ?? 0) + 1)
  }
  for (const owner of owners.values()) {
    remarks.lose(placeOf('users', owner), accountReason(owner, counts.get(owner) ?? 0, context))
  }
  return keys
}

function keyOf(
  token: Row,
  owner: Row | undefined,
  { channels, options, remarks, nowMs, position, ...context }: TokenContext & { readonly position: number },
): DraftEntryKey | null {
  const place = placeOf('tokens', token)
  const name = [owner === undefined ? '' : text(owner, 'username'), text(token, 'name')].filter((one) => one !== '')
  const lose = (column: string, reason: string): null => {
    remarks.lose(`${place}.${column}`, `the token "${text(token, 'name')}" is left out: ${reason}`)
    return null
  }
  if (owner === undefined && context.users.length > 0) return lose('user_id', 'its user is deleted')
  const expiresAtMs = number(token, 'expired_time') * 1000
  if (number(token, 'status') === EXPIRED || (expiresAtMs > 0 && expiresAtMs <= nowMs)) {
    return lose('expired_time', 'it has expired')
  }
  const groups = groupsOf(token, owner, options)
  const models = modelsOf(token, groups, channels)
  if (models !== null && models.length === 0) return lose('model_limits', 'no channel was carried that it may use')
  const addresses = addressesOf(token, place, remarks)
  if (addresses !== null && addresses.length === 0) return lose('allow_ips', 'no address of it is one, or a CIDR range')
  if (isAuto(token)) {
    const names = groups.map((group) => `"${group}"`).join(', ')
    remarks.change(`${place}.group`, `"auto" is ${names} for its user: the key may use the models of these groups`)
  }
  const given = `sk-${text(token, 'key').trim().replace(/^sk-/, '')}`
  const isOwn = isApiKey(given)
  const at = `keys[${position}]`
  if (!isOwn) {
    remarks.change(
      `${place}.key`,
      `keys of Sluice have a checksum: ${at}.key of the written file is a new key for "${name.join(': ')}", which clients must use instead`,
    )
  }
  const budget = budgetOf(token, owner, context.quotaPerUsd)
  if (budget !== null) {
    remarks.change(
      budget.isOfUser ? `users[id=${text(token, 'user_id')}].quota` : `${place}.remain_quota`,
      `the $${(budget.micro / 1e6).toFixed(2)} that are left are the monthly_budget of ${at}: Sluice grants it anew each calendar month, and has no budget for all time`,
    )
  }
  const status = number(token, 'status')
  const isOff =
    (status !== ENABLED && status !== EXHAUSTED) || (owner !== undefined && number(owner, 'status') !== ENABLED)
  return {
    name: name.length === 0 ? place : name.join(': '),
    key: isOwn ? given : generateApiKey(),
    ...(isOff ? { enabled: false } : {}),
    ...(expiresAtMs > 0 ? { expires_at: new Date(expiresAtMs).toISOString() } : {}),
    ...(budget === null ? {} : { monthly_budget: budget.micro }),
    ...(models === null ? {} : { models }),
    ...(addresses === null ? {} : { ip_allow: addresses }),
  }
}

/** The smaller of what is left to the token and to its user. Null: neither has a quota. */
function budgetOf(
  token: Row,
  owner: Row | undefined,
  quotaPerUsd: number,
): { readonly micro: number; readonly isOfUser: boolean } | null {
  const own = flag(token, 'unlimited_quota') ? Infinity : Math.max(0, number(token, 'remain_quota'))
  const ofUser = owner === undefined ? Infinity : Math.max(0, number(owner, 'quota'))
  const least = Math.min(own, ofUser)
  if (least === Infinity) return null
  const micro = Math.min(Number.MAX_SAFE_INTEGER, Math.floor((least / quotaPerUsd) * 1e6))
  return { micro, isOfUser: ofUser < own }
}

function isAuto(token: Row): boolean {
  return text(token, 'group').trim() === 'auto'
}

/** The groups of a token: its own, else that of its user. */
function groupsOf(token: Row, owner: Row | undefined, options: Options): string[] {
  const own = text(token, 'group').trim()
  const ofUser = owner === undefined ? 'default' : text(owner, 'group')
  return isAuto(token) ? autoGroupsOf(ofUser, options) : [own === '' ? ofUser : own]
}

/** Models that the token may use: those of its limit, in channels of its groups. Null: all. */
function modelsOf(token: Row, own: readonly string[], channels: readonly Channel[]): string[] | null {
  const all = new Set(channels.flatMap(idsOf))
  const isOpen = own.includes('')
  const ofGroup = new Set(
    channels.filter(({ groups }) => isOpen || own.some((group) => groups.includes(group))).flatMap(idsOf),
  )
  if (!flag(token, 'model_limits_enabled')) return ofGroup.size === all.size ? null : [...ofGroup]
  return list(text(token, 'model_limits'), ',').filter((model) => ofGroup.has(model))
}

function addressesOf(token: Row, place: string, remarks: Remarks): string[] | null {
  const given = list(text(token, 'allow_ips').replaceAll(/[ ,]/g, ''), '\n')
  if (given.length === 0) return null
  for (const address of given) {
    if (!isAddressRange(address)) remarks.lose(`${place}.allow_ips`, `"${address}" is no address and no CIDR range`)
  }
  return given.filter(isAddressRange)
}

function accountReason(owner: Row, keys: number, { quotaPerUsd }: TokenContext): string {
  const email = text(owner, 'email')
  const quota = (Math.max(0, number(owner, 'quota')) / quotaPerUsd).toFixed(2)
  const who = `"${text(owner, 'username')}"${email === '' ? '' : ` (${email})`}`
  const budgets =
    keys > 1 ? `; the $${quota} of the account bound each of its ${keys} keys by itself, not their sum` : ''
  return `accounts are not carried, ${who} needs one in Sluice to log in${budgets}`
}
