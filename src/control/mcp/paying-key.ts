import { GatewayError } from '../../shared/core/errors.ts'
import type { EntryKey } from '../../shared/core/snapshot.ts'
import type { Queryable } from '../store/database.ts'
import { listUsableKeys } from '../store/entry-keys.ts'
import type { McpCaller } from './callers.ts'

/** Keys of a user that are looked at. */
const MAX_KEYS = 200
/** Keys that an error names. */
const MAX_NAMED = 10

interface PayingKeyWish {
  /** The key that the caller names; undefined: none. */
  readonly keyId: unknown
  readonly model: unknown
  /** The argument of the tool that names the key. */
  readonly argument?: string
  /** Whether a key may pay for the request; absent: each may. */
  readonly mayPay?: (key: EntryKey) => Promise<boolean>
}

/**
 * The entry key that pays for an AI request of the caller. A key pays itself. A user names one of the keys that are the user's, or were
 * issued to the user; without a name, the only one that may use the model pays. Throws INVALID_FIELD when there is no such key, or a choice.
 */
export async function payingKey(
  database: Queryable,
  caller: McpCaller,
  { keyId, model, argument = 'key_id', mayPay }: PayingKeyWish,
): Promise<EntryKey> {
  const all = caller.kind === 'key' ? [caller.key] : await listUsableKeys(database, caller.user.userId, MAX_KEYS)
  const possible = keyId === undefined ? all : all.filter(({ id }) => id === keyId)
  const own = mayPay === undefined ? possible : await filtered(possible, mayPay)
  const invalidKey = (message: string): GatewayError =>
    new GatewayError('INVALID_FIELD', { message, param: `/${argument}` })
  if (keyId !== undefined) {
    const [named] = own
    if (named === undefined)
      throw invalidKey(`${argument} must be the id of a key of yours that is on and may pay for this.`)
    return named
  }
  const fitting = own.filter(({ models }) => models === null || typeof model !== 'string' || models.includes(model))
  const [first, ...others] = fitting.length > 0 ? fitting : own
  if (first === undefined) throw invalidKey('You have no key that could pay for this. Make one first: create_key.')
  if (others.length === 0) return first
  const names = [first, ...others].slice(0, MAX_NAMED).map(({ id, name }) => `${id} (${name})`)
  throw invalidKey(`Several of your keys could pay. Name one of them as ${argument}: ${names.join(', ')}.`)
}

/** As many of the keys that may pay as matter. */
async function filtered(
  keys: readonly EntryKey[],
  mayPay: (key: EntryKey) => Promise<boolean>,
): Promise<readonly EntryKey[]> {
  const found: EntryKey[] = []
  for (const key of keys) {
    if (found.length > MAX_NAMED) break
    if (await mayPay(key)) found.push(key)
  }
  return found
}
