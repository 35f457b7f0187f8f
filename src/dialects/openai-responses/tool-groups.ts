import type { JsonObject } from '../../shared/core/json-object.ts'
import { textOr } from '../common/fields.ts'

/**
 * Separates the name of a group (`namespace`) from the name of a tool in it. Upstreams have no groups, so the upstream's name
 * is built from the combined name. No upstream accepts this character, so the upstream's name is hashed and differs from all
 * others.
 */
const SEPARATOR = '\u001f'

/** The name of a tool, unique among all groups. */
export function nameInGroup({ namespace, name }: JsonObject): string {
  const own = textOr(name, '')
  const group = textOr(namespace, '')
  return group === '' ? own : `${group}${SEPARATOR}${own}`
}

/** Splits the name for a call. `namespace` is present only for a tool of a group. */
export function splitName(name: string): { readonly name: string; readonly namespace?: string } {
  const at = name.indexOf(SEPARATOR)
  return at === -1 ? { name } : { name: name.slice(at + 1), namespace: name.slice(0, at) }
}
