/** The place of a value in the configuration: member names and list indexes from the top. */
export type Path = ReadonlyArray<string | number>

/** A problem at one place; `part` says whether the key or its value is wrong. */
export interface Problem {
  readonly path: Path
  readonly message: string
  readonly part: 'key' | 'value'
}

/** The source of a problem, for people: `sluice.yaml:3:5` or the name of an environment variable. */
export interface Place {
  readonly file: string | null
  /** From 1. */
  readonly line: number | null
  /** From 1. */
  readonly column: number | null
  readonly variable: string | null
}

/**
 * A configuration that cannot be used. Each of its problems is one line for the operator and never quotes a text value; the message has
 * them all.
 */
export class ConfigError extends Error {
  readonly place: Place
  readonly path: Path
  /** All problems, this error itself when it is the only one. */
  readonly problems: readonly ConfigError[]

  constructor(message: string, place: Partial<Place> = {}, path: Path = [], problems: readonly ConfigError[] = []) {
    const { file = null, line = null, column = null, variable = null } = place
    super(`${prefix({ file, line, column, variable })}${message}`)
    this.name = 'ConfigError'
    this.place = { file, line, column, variable }
    this.path = path
    this.problems = problems.length === 0 ? [this] : problems
  }

  /** One error for all of `problems`, of which there is one at least. Place and path are those of the first. */
  static of(problems: readonly ConfigError[]): ConfigError {
    const [first] = problems
    if (first === undefined || problems.length === 1)
      return first ?? new ConfigError('the configuration cannot be used')
    const shown = problems.slice(0, MAX_SHOWN).map(({ message }) => `  ${message}`)
    const more = problems.length > MAX_SHOWN ? [`  and ${problems.length - MAX_SHOWN} more`] : []
    const error = new ConfigError(`the configuration has ${problems.length} errors:`, {}, first.path, problems)
    error.message = [error.message, ...shown, ...more].join('\n')
    return error
  }
}

/** Problems in the message; a wrong file can have thousands. */
const MAX_SHOWN = 100

/** Reports a problem at a place of the file; never returns. */
export interface Fail {
  (path: Path, message: string): never
  /** Keeps a problem, so that the search for others goes on. Absent: the first problem ends the search. */
  readonly keep?: (problem: ConfigError) => void
}

/** Runs `work`. Returns `otherwise` when it finds a problem and `fail` keeps problems. */
export function attempt<Result>(fail: Fail, work: () => Result, otherwise: Result): Result {
  try {
    return work()
  } catch (cause) {
    if (fail.keep === undefined || !(cause instanceof ConfigError)) throw cause
    fail.keep(cause)
    return otherwise
  }
}

/** The program does not know an argument that it was called with. */
export class UsageError extends ConfigError {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

/** `upstreams[0].keys[1].credential` */
export function pathText(path: Path): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else text += text === '' ? step : `.${step}`
  }
  return text
}

function prefix({ file, line, column, variable }: Place): string {
  if (variable !== null) return `${variable}: `
  if (file === null) return ''
  return line === null ? `${file}: ` : `${file}:${line}:${column ?? 1}: `
}
