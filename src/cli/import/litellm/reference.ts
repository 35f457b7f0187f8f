import { isObject } from '../../../shared/config/is-object.ts'
import { escaped } from '../draft.ts'

const PREFIX = 'os.environ/'

/** Turns texts of a LiteLLM file into texts of a Sluice file: `os.environ/NAME` becomes `${NAME}`. */
export class References {
  /** `environment_variables` of the file: LiteLLM sets them itself. */
  readonly #variables: Readonly<Record<string, unknown>>

  constructor(variables: unknown) {
    this.#variables = isObject(variables) ? variables : {}
  }

  /** Undefined for a value that is no text and no number, and for an empty text. */
  text(value: unknown): string | undefined {
    if (typeof value === 'number' || typeof value === 'boolean') return String(value)
    if (typeof value !== 'string' || value === '') return undefined
    if (!value.startsWith(PREFIX)) return escaped(value)
    return this.variable(value.slice(PREFIX.length))
  }

  /** The value of the first of `names` that the file sets, else a reference to the first one. */
  variable(...names: readonly [string, ...string[]]): string {
    for (const name of names) {
      const value = this.#variables[name]
      if (typeof value === 'string' && !value.startsWith(PREFIX)) return escaped(value)
      if (typeof value === 'number') return String(value)
    }
    const set = names.find((name) => (process.env[name] ?? '') !== '')
    return `\${${set ?? names[0]}}`
  }

  /** The value of the first of `names` that the file or the environment sets; undefined: none is set. */
  variableIfSet(...names: readonly [string, ...string[]]): string | undefined {
    for (const name of names) {
      const value = this.#variables[name]
      // LiteLLM gives the variable the value of the other one.
      if (typeof value === 'string' && value.startsWith(PREFIX)) return `\${${value.slice(PREFIX.length)}}`
      const text = this.text(value)
      if (text !== undefined) return text
      if ((process.env[name] ?? '') !== '') return `\${${name}}`
    }
    return undefined
  }

  /** A number; undefined for what is no number in the file itself. */
  number(value: unknown): number | undefined {
    const text = this.text(value)
    const number = text === undefined ? NaN : Number(text)
    return Number.isFinite(number) && number >= 0 ? number : undefined
  }
}

export function isReference(text: string): boolean {
  return /\$\{/.test(text.replaceAll('$${', ''))
}
