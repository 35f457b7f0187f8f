import type { Snapshot } from '../../shared/core/snapshot.ts'

const UNKNOWN = 'other'
/** Before the body was read, or when it named none. */
const NONE = ''

/** The model names that may stand in metrics: those of the configuration, whatever clients ask for. */
export class ModelLabels {
  #exact: ReadonlySet<string> = new Set()
  #patterns: ReadonlyArray<{ readonly prefix: string; readonly label: string }> = []

  update({ models }: Snapshot): void {
    const ids = models.map(({ id }) => id)
    this.#exact = new Set(ids.filter((id) => !id.endsWith('*')))
    this.#patterns = ids
      .filter((id) => id.endsWith('*'))
      .map((label) => ({ prefix: label.slice(0, -1), label }))
      .sort((a, b) => b.prefix.length - a.prefix.length)
  }

  of(model: string | null): string {
    if (model === null) return NONE
    if (this.#exact.has(model)) return model
    for (const { prefix, label } of this.#patterns) if (model.startsWith(prefix)) return label
    return UNKNOWN
  }
}
