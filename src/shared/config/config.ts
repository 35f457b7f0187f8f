import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { Value } from 'typebox/value'
import { findProblems, schemaAt } from './check.ts'
import { isObject } from './is-object.ts'
import {
  attempt,
  ConfigError,
  pathText,
  UsageError,
  type Fail,
  type Path,
  type Place,
  type Problem,
} from './config-error.ts'
import { readDocument, type ConfigDocument } from './document.ts'
import { readEnvironment, type Env, type Override } from './env.ts'
import { coerceText, interpolate, type InterpolationOptions } from './interpolate.ts'
import { resolveConfig } from './resolve.ts'
import { configSchema, type ConfigFile } from './schema.ts'
import type { Config } from './shape.ts'
import { shownSettings } from './shown-settings.ts'

export interface LoadOptions {
  readonly env: Env
  /** Arguments after the program's name; only `--config FILE` is known. */
  readonly argv?: readonly string[]
  /** Base of relative paths; the working directory by default. */
  readonly cwd?: string
  /** Cores that defaults are computed from; those of the machine by default. */
  readonly cores?: number
  /** Gets the path of each file before it is read: the file itself, and those that its values name. */
  readonly onFile?: (file: string) => void
}

/**
 * The configuration from file, environment and defaults; reads files, writes none. The environment overrides the file, and
 * `SLUICE__…` overrides the well-known variables. Throws a ConfigError with all problems, and UsageError for unknown arguments.
 */
export function readConfig({
  env,
  argv = [],
  cwd = process.cwd(),
  cores = availableParallelism(),
  onFile = () => undefined,
}: LoadOptions): Config {
  const environment = readEnvironment(env)
  const file = configFile(argv, environment.configFile, cwd, onFile)
  const document = file === null ? null : readDocument(file, shownFile(file, cwd))
  const places = new Places(document, environment.overrides)
  const { fail } = places

  const named = places.collecting((path, message) =>
    places.problem({ path, message: `${pathText(path)}: ${message}`, part: 'value' }),
  )
  let tree: unknown = interpolate(document?.value ?? {}, { schema: configSchema, env, cwd, fail: named, onFile })
  for (const override of environment.overrides) {
    tree = attempt(fail, () => withOverride(tree, override, { env, cwd, onFile }), tree)
  }
  const complete = Value.Default(configSchema, tree)
  const problems = findProblems(configSchema, complete)
  for (const problem of problems) places.keep(problem)

  // Values that the schema refuses are left out of the checks that follow, so that they find the other problems.
  const isSound = (path: Path): boolean => !problems.some((problem) => isRelated(path, problem.path))
  const raw = (problems.length === 0 ? complete : withoutProblems(complete)) as ConfigFile
  const sources = { file: document?.value, overrides: environment.overrides }
  const settings = shownSettings(configSchema, raw, sources)
  const options = { file, shownSettings: settings, env, cwd, cores, fail, isSound, onFile }
  const config = attempt(fail, () => resolveConfig(raw, options), null)
  places.throwAll()
  if (config === null) throw new ConfigError('the configuration cannot be used')
  return config
}

/** Lists whose entries are checked one by one. */
const ENTRY_LISTS: ReadonlySet<unknown> = new Set(['upstreams', 'models', 'model_groups', 'keys'])

/** A copy that lacks the values which the schema refuses, outside of the entries of lists. Defaults take their place. */
function withoutProblems(tree: unknown): unknown {
  let copy = copyOf(isObject(tree) ? tree : {})
  for (;;) {
    const { length } = findProblems(configSchema, copy)
      .filter(({ path }) => !isInEntry(path))
      .map(({ path }) => {
        const index = path.findIndex((step) => typeof step === 'number')
        removeAt(copy, index < 0 ? path : path.slice(0, index))
      })
    if (length === 0) return copy
    copy = Value.Default(configSchema, copy)
  }
}

/** Not structuredClone, which refuses what a wrong file may hold. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf)
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, copyOf(one)])) : value
}

function isInEntry([list, index]: Path): boolean {
  return ENTRY_LISTS.has(list) && typeof index === 'number'
}

/** Removes the member at `path` or, when it is missing, the section that lacks it. */
function removeAt(tree: unknown, path: Path): void {
  const [section, name] = [path.slice(0, -1), path.at(-1)]
  const parent = section.reduce((node, step) => (isObject(node) ? node[step] : undefined), tree)
  if (!isObject(parent) || name === undefined) return
  if (Object.hasOwn(parent, name)) Reflect.deleteProperty(parent, name)
  else removeAt(tree, section)
}

function configFile(
  argv: readonly string[],
  fromEnvironment: string | null,
  cwd: string,
  onFile: (file: string) => void,
): string | null {
  const named = configArgument(argv) ?? fromEnvironment
  const usual = resolve(cwd, named ?? 'sluice.yaml')
  onFile(usual)
  if (named !== null) return usual
  return existsSync(usual) ? usual : null
}

function configArgument(argv: readonly string[]): string | null {
  try {
    const { values } = parseArgs({ args: [...argv], options: { config: { type: 'string' } }, allowPositionals: false })
    return values.config ?? null
  } catch (cause) {
    throw new UsageError(
      `${cause instanceof Error ? (cause.message.split('. ', 1)[0] ?? '') : String(cause)}; usage: --config FILE`,
    )
  }
}

function withOverride(
  tree: unknown,
  override: Override,
  from: Required<Pick<LoadOptions, 'env' | 'cwd' | 'onFile'>>,
): unknown {
  const { variable, path, text, interpolates } = override
  const fail = (_: Path, message: string): never => {
    throw new ConfigError(message, { variable }, path)
  }
  const schema = schemaAt(configSchema, path)
  const replaced = interpolates ? interpolateOverride(text, { ...from, fail }) : text
  const value = coerceText(schema, replaced)
  return value === null ? tree : withValue(tree, path, value, fail)
}

/** The text is interpolated before it is parsed: a list or section in a variable may hold references too. */
function interpolateOverride(text: string, options: Omit<InterpolationOptions, 'schema'>): string {
  const replaced = interpolate(text, { ...options, schema: {} })
  return typeof replaced === 'string' ? replaced : text
}

/** A copy of `tree` with `value` at `path`. Adds missing sections and the next item of a list. */
function withValue(tree: unknown, path: Path, value: unknown, fail: (path: Path, message: string) => never): unknown {
  const [step, ...rest] = path
  if (step === undefined) return value
  if (typeof step === 'number') {
    const list: readonly unknown[] = Array.isArray(tree) ? tree : []
    if (tree !== undefined && !Array.isArray(tree)) fail(path, `${step} is an index, but there is no list at its place`)
    if (step > list.length)
      fail(path, `the list has ${list.length} items; the next index is ${list.length}, not ${step}`)
    return list.toSpliced(step, 1, withValue(list[step], rest, value, fail))
  }
  if (tree !== undefined && !isObject(tree)) fail(path, `${step} is a key, but there is no section at its place`)
  const members = isObject(tree) ? tree : {}
  const old = Object.hasOwn(members, step) ? members[step] : undefined
  return Object.fromEntries([...Object.entries(members), [step, withValue(old, rest, value, fail)]])
}

/** Knows which line or variable a value came from, and keeps the problems of all. */
class Places {
  /** Reports a problem with a value. Whoever calls `attempt` goes on. */
  readonly fail: Fail
  readonly #document: ConfigDocument | null
  readonly #overrides: readonly Override[]
  readonly #found: ConfigError[] = []

  constructor(document: ConfigDocument | null, overrides: readonly Override[]) {
    this.#document = document
    this.#overrides = overrides
    this.fail = this.collecting((path, message) =>
      this.problem({ path, message: withPath(path, message), part: 'value' }),
    )
  }

  collecting(problem: (path: Path, message: string) => ConfigError): Fail {
    const fail = (path: Path, message: string): never => {
      throw problem(path, message)
    }
    return Object.assign(fail, { keep: (found: ConfigError) => this.#add(found) })
  }

  problem({ path, message, part }: Problem): ConfigError {
    return new ConfigError(message, this.#locate(path, part), path)
  }

  keep(problem: Problem): void {
    this.#add(this.problem(problem))
  }

  /** Throws when there are problems. */
  throwAll(): void {
    if (this.#found.length > 0) throw ConfigError.of(this.#found)
  }

  /** Leaves out a problem that another one may have caused: one with the same value, its section or its members. */
  #add(found: ConfigError): void {
    const { path } = found
    const isFollowing = path.length > 0 && this.#found.some((one) => one.path.length > 0 && isRelated(one.path, path))
    if (!isFollowing) this.#found.push(found)
  }

  #locate(path: Path, part: 'key' | 'value'): Partial<Place> {
    const setIt = this.#overrides.findLast((override) => covers(override.path, path))
    if (setIt) return { variable: setIt.variable }
    const place = this.#document?.locate(path, part)
    if (place) return place
    const parent = path.slice(0, -1)
    const below = this.#overrides.find((override) => covers(path, override.path) || covers(parent, override.path))
    return below ? { variable: below.variable } : { file: this.#document?.file ?? null }
  }
}

function covers(outer: Path, inner: Path): boolean {
  return outer.every((step, index) => step === inner[index])
}

function isRelated(a: Path, b: Path): boolean {
  return covers(a, b) || covers(b, a)
}

/** The message with the path in front, unless it names the path itself. */
function withPath(path: Path, message: string): string {
  const text = pathText(path)
  return text === '' || message.includes(text) ? message : `${text}: ${message}`
}

function shownFile(file: string, cwd: string): string {
  const fromHere = relative(cwd, file)
  return fromHere.startsWith('..') ? file : fromHere
}
