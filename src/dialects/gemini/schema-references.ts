import type { JsonObject } from '../../shared/core/json-object.ts'
import { arrayOf } from '../common/fields.ts'
import { asObject } from '../common/json-value.ts'

/** Follows the references within one schema and detects cycles. */
export class SchemaReferences {
  readonly #root: JsonObject
  readonly #entered = new Set<string>()

  constructor(root: JsonObject) {
    this.#root = root
  }

  /** The target of `#/$defs/name`; null when it is missing or leads to a cycle. Call `leave` afterwards. */
  enter(reference: string): JsonObject | null {
    if (this.#entered.has(reference) || !reference.startsWith('#')) return null
    let here: unknown = this.#root
    for (const step of reference.slice(1).split('/').slice(1)) {
      const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
      here = Array.isArray(here) ? arrayOf(here)[Number(name)] : asObject(here)?.[name]
    }
    const found = asObject(here)
    if (found !== null) this.#entered.add(reference)
    return found
  }

  leave(reference: string): void {
    this.#entered.delete(reference)
  }
}
