import type { JsonObject } from '../../shared/core/json-object.ts'
import { textOr } from '../fields.ts'

/**
 * Stands between the name of a group (`namespace`) and the name of a tool in it. Upstreams know no groups: their name of such a
 * tool is made of the whole, which holds a character that no upstream takes, so that it differs from all others.
 */
const SEPARATOR = '\u001f'

/** The name of a tool among those of all groups. */
export function nameInGroup({ namespace, name }: JsonObject): string {
  const own = textOr(name, '')
  const group = textOr(namespace, '')
  return group === '' ? own : `${group}${SEPARATOR}${own}`
}

/** As calls have it: `namespace` only where there is one. */
export function splitName(name: string): { readonly name: string; readonly namespace?: string } {
  const at = name.indexOf(SEPARATOR)
  return at === -1 ? { name } : { name: name.slice(at + 1), namespace: name.slice(0, at) }
}
