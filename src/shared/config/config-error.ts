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

/** A configuration that cannot be used. The message is one line for the operator and never quotes a text value. */
export class ConfigError extends Error {
  readonly place: Place
  readonly path: Path

  constructor(message: string, place: Partial<Place> = {}, path: Path = []) {
    const { file = null, line = null, column = null, variable = null } = place
    super(`${prefix({ file, line, column, variable })}${message}`)
    this.name = 'ConfigError'
    this.place = { file, line, column, variable }
    this.path = path
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
