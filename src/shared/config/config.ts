import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { Value } from 'typebox/value'
import { findProblem, schemaAt } from './check.ts'
import { isObject } from './is-object.ts'
import { ConfigError, pathText, UsageError, type Path, type Place, type Problem } from './config-error.ts'
import { readDocument, type ConfigDocument } from './document.ts'
import { readEnvironment, type Env, type Override } from './env.ts'
import { coerceText, interpolate } from './interpolate.ts'
import { resolveConfig } from './resolve.ts'
import { configSchema, type ConfigFile } from './schema.ts'
import type { Config } from './shape.ts'

export interface LoadOptions {
  readonly env: Env
  /** Arguments after the program's name; only `--config FILE` is known. */
  readonly argv?: readonly string[]
  /** Base of relative paths; the working directory by default. */
  readonly cwd?: string
  /** Cores that defaults are computed from; those of the machine by default. */
  readonly cores?: number
}

/**
 * The configuration from file, environment and defaults; reads files, writes none. The environment overrides the file, and
 * `SLUICE__…` overrides the well-known variables. Throws ConfigError, and UsageError for unknown arguments.
 */
export function readConfig({
  env,
  argv = [],
  cwd = process.cwd(),
  cores = availableParallelism(),
}: LoadOptions): Config {
  const environment = readEnvironment(env)
  const file = configFile(argv, environment.configFile, cwd)
  const document = file === null ? null : readDocument(file, shownFile(file, cwd))
  const places = new Places(document, environment.overrides)

  let tree: unknown = interpolate(document?.value ?? {}, {
    schema: configSchema,
    env,
    cwd,
    fail: (path, message) => places.fail({ path, message: `${pathText(path)}: ${message}`, part: 'value' }),
  })
  for (const override of environment.overrides) tree = withOverride(tree, override, env, cwd)
  const complete = Value.Default(configSchema, tree)
  const problem = findProblem(configSchema, complete)
  if (problem) places.fail(problem)

  return resolveConfig(complete as ConfigFile, {
    file,
    env,
    cwd,
    cores,
    fail: (path, message) => places.fail({ path, message, part: 'value' }),
  })
}

function configFile(argv: readonly string[], fromEnvironment: string | null, cwd: string): string | null {
  const named = configArgument(argv) ?? fromEnvironment
  if (named !== null) return resolve(cwd, named)
  const usual = resolve(cwd, 'sluice.yaml')
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

function withOverride(tree: unknown, override: Override, env: Env, cwd: string): unknown {
  const { variable, path, text, interpolates } = override
  const fail = (_: Path, message: string): never => {
    throw new ConfigError(message, { variable }, path)
  }
  const schema = schemaAt(configSchema, path)
  const replaced = interpolates ? interpolateOverride(text, { env, cwd, fail }) : text
  const value = coerceText(schema, replaced)
  return value === null ? tree : withValue(tree, path, value, fail)
}

/** The text is interpolated before it is parsed: a list or section in a variable may hold references too. */
function interpolateOverride(
  text: string,
  options: { env: Env; cwd: string; fail: (path: Path, message: string) => never },
): string {
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

/** Knows which line or variable a value came from. */
class Places {
  readonly #document: ConfigDocument | null
  readonly #overrides: readonly Override[]

  constructor(document: ConfigDocument | null, overrides: readonly Override[]) {
    this.#document = document
    this.#overrides = overrides
  }

  fail({ path, message, part }: Problem): never {
    throw new ConfigError(message, this.#locate(path, part), path)
  }

  #locate(path: Path, part: 'key' | 'value'): Partial<Place> {
    const covers = (outer: Path, inner: Path): boolean => outer.every((step, index) => step === inner[index])
    const setIt = this.#overrides.findLast((override) => covers(override.path, path))
    if (setIt) return { variable: setIt.variable }
    const place = this.#document?.locate(path, part)
    if (place) return place
    const parent = path.slice(0, -1)
    const below = this.#overrides.find((override) => covers(path, override.path) || covers(parent, override.path))
    return below ? { variable: below.variable } : { file: this.#document?.file ?? null }
  }
}

function shownFile(file: string, cwd: string): string {
  const fromHere = relative(cwd, file)
  return fromHere.startsWith('..') ? file : fromHere
}
