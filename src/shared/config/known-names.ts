import type { CatalogueNames } from '../core/model-names.ts'
import { ServedModels } from './snapshot-parts.ts'
import type { SnapshotParts } from './snapshot-parts.ts'

/** The names that requests can ask for, those of the catalogue, and those of groups. */
export class KnownNames {
  readonly #served: ServedModels
  readonly #exact: ReadonlySet<string>
  readonly #groups: ReadonlySet<string>

  constructor({ parts, names }: { readonly parts: SnapshotParts; readonly names: CatalogueNames }) {
    this.#served = new ServedModels(parts.models)
    this.#exact = new Set([...parts.models, ...parts.facts].map(({ id }) => id))
    this.#groups = new Set(names.groups.map(({ id }) => id))
  }

  has(name: string): boolean {
    return this.#groups.has(name) || this.hasModel(name)
  }

  /** Whether a model, an alias or an entry of the catalogue has exactly this id. */
  isModel(id: string): boolean {
    return this.#exact.has(id)
  }

  /** A pattern is known when it matches a known model, or a model of a known pattern. */
  hasModel(name: string): boolean {
    if (this.#exact.has(name) || this.#served.find(name) !== null) return true
    if (!name.endsWith('*')) return false
    const prefix = name.slice(0, -1)
    return [...this.#exact].some(
      (id) => id.startsWith(prefix) || (id.endsWith('*') && prefix.startsWith(id.slice(0, -1))),
    )
  }
}
