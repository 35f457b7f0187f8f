import { maskSecrets } from './without-secrets.ts'

/** The value of one field before and after a change; null where there was none. */
interface ChangedField {
  /** The names from the outside in, joined by dots. */
  readonly field: string
  readonly old: unknown
  readonly new: unknown
}

/** A change as the audit log tells it: what a resource was, and what it is now. Null: there was none, or there is none any more. */
export interface Audited {
  readonly before: unknown
  readonly after: unknown
  /** The enterprise in whose log it stands; only for paths that do not name it. */
  readonly enterpriseId?: string | null
}

/** Fields that change by themselves, or that the entry has already. */
const IGNORED: ReadonlySet<string> = new Set([
  'id',
  'spend',
  'firing',
  'created_at',
  'updated_at',
  'last_used_at',
  'old_key_until',
])
const MAX_VALUE_CHARACTERS = 1_024
const MAX_CHARACTERS = 16_384
/** Deeper values are compared whole. */
const MAX_DEPTH = 8

/**
 * Returns the fields that differ, with their old and new values, as JSON. Objects are compared field by field, lists as a whole.
 * Secrets are hidden, long values are cut, and fields beyond `MAX_CHARACTERS` are only counted.
 */
export function changedFields({ before, after }: Audited): string {
  const kept: ChangedField[] = []
  let characters = 0
  let leftOut = 0
  for (const one of differences('', maskSecrets(before), maskSecrets(after), 0)) {
    const field = { field: one.field, old: shortened(one.old), new: shortened(one.new) }
    characters += JSON.stringify(field).length
    if (characters <= MAX_CHARACTERS) kept.push(field)
    else leftOut += 1
  }
  if (leftOut > 0) kept.push({ field: '*', old: null, new: `${leftOut} more fields` })
  return JSON.stringify(kept)
}

function* differences(path: string, before: unknown, after: unknown, depth: number): Generator<ChangedField> {
  const isObject = isFields(before) || isFields(after)
  if (depth < MAX_DEPTH && isObject && (isFields(before) || before === null) && (isFields(after) || after === null)) {
    for (const name of new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])) {
      if (depth === 0 && IGNORED.has(name)) continue
      const old = before?.[name] ?? null
      const fresh = after?.[name] ?? null
      yield* differences(path === '' ? name : `${path}.${name}`, old, fresh, depth + 1)
    }
    return
  }
  if (JSON.stringify(before) !== JSON.stringify(after)) yield { field: path, old: before, new: after }
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function shortened(value: unknown): unknown {
  const { length } = JSON.stringify(value)
  return length <= MAX_VALUE_CHARACTERS ? value : `[left out: ${length} characters]`
}
