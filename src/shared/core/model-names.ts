/** A named set of models: ids, aliases, and prefixes that end in `*`. */
export interface ModelGroup {
  readonly id: string
  readonly models: readonly string[]
}

/** The names of the catalogue for models, beside their ids. */
export interface CatalogueNames {
  /** Each alias with the id of its model. */
  readonly aliases: ReadonlyArray<readonly [alias: string, model: string]>
  readonly groups: readonly ModelGroup[]
}

/** Tells which model and which groups a name stands for. An alias counts as its model, both in a request and in a list of names. */
export class ModelNames {
  readonly #aliases: ReadonlyMap<string, string>
  readonly #groups: ReadonlyMap<string, ModelSet>

  constructor({ aliases, groups }: CatalogueNames) {
    this.#aliases = new Map(aliases)
    this.#groups = new Map(groups.map(({ id, models }) => [id, new ModelSet(models.map((name) => this.modelOf(name)))]))
  }

  /** The model behind an alias; another id stays as it is. */
  modelOf(id: string): string {
    return this.#aliases.get(id) ?? id
  }

  isGroup(id: string): boolean {
    return this.#groups.has(id)
  }

  /** Whether `names`, of models and of groups, cover a model. */
  cover(names: readonly string[], model: string): boolean {
    const id = this.modelOf(model)
    return names.some((name) => this.#groups.get(name)?.has(id) ?? isNamed(this.modelOf(name), id))
  }
}

export const NO_MODEL_NAMES = new ModelNames({ aliases: [], groups: [] })

class ModelSet {
  readonly #exact: ReadonlySet<string>
  readonly #patterns: readonly string[]

  constructor(names: readonly string[]) {
    this.#exact = new Set(names)
    this.#patterns = names.filter((name) => name.endsWith('*'))
  }

  has(id: string): boolean {
    return this.#exact.has(id) || this.#patterns.some((pattern) => isNamed(pattern, id))
  }
}

function isNamed(name: string, id: string): boolean {
  return name.endsWith('*') ? id.startsWith(name.slice(0, -1)) : name === id
}
