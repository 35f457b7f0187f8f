import type { Snapshot } from '../../shared/core/snapshot.ts'

const UNKNOWN = 'other'
/** The label before the body has been read, or when it names no model. */
const NONE = ''

/** Maps requested models to metric labels, which are the model names of the configuration only: bounded. */
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
