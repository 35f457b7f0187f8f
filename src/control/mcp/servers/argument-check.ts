import { createContext, Script } from 'node:vm'
import { Ajv } from 'ajv'
import type { ErrorObject, ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { LRUCache } from 'lru-cache'
import { fieldError } from '../../../shared/core/field-error.ts'
import { GatewayError } from '../../../shared/core/errors.ts'
import { isDeeper } from '../messages.ts'
import type { Json } from '../tool-source.ts'
import { isJson } from './tool-definitions.ts'

const MAX_SCHEMA_BYTES = 65_536
const MAX_DEPTH = 32
/** Of each attempt, by the wall: a busy machine takes many times longer than a schema needs. After the last it is given up. */
const COMPILE_MS = [2_000, 2_000, 2_000]
const CHECK_MS = 1_000
const MAX_COMPILED = 1_000

const RUN = new Script('work()')
const sandbox: { work: () => void } = { work: () => undefined }
createContext(sandbox)

/**
 * Checks arguments against the schemas of tools, which their servers wrote: a schema, or a pattern in it, that takes too long is
 * stopped. Formats are not checked.
 */
export class ArgumentCheck {
  readonly #compiled = new LRUCache<string, Compiled>({ max: MAX_COMPILED })
  readonly #compileMs: readonly number[]

  constructor(compileMs: readonly number[] = COMPILE_MS) {
    this.#compileMs = compileMs
  }

  /** Throws INVALID_FIELD, also for a schema that cannot be used. @param digest names the tool and its schema */
  check(digest: string, schema: Json, input: Json): void {
    const validate = this.#compile(digest, schema)
    if (validate === null)
      throw new GatewayError('INVALID_FIELD', { message: 'The schema of this tool cannot be used.' })
    let errors: ErrorObject[] | null | undefined = null
    try {
      within(CHECK_MS, () => {
        errors = validate(input) ? null : validate.errors
      })
    } catch {
      throw new GatewayError('INVALID_FIELD', { message: 'The arguments take too long to be checked.' })
    }
    if (errors !== null) throw fieldError((errors as ErrorObject[])[0])
  }

  #compile(digest: string, schema: Json): ValidateFunction | null {
    const known = this.#compiled.get(digest)
    const attempt = known?.lateAttempts ?? 0
    const withinMs = this.#compileMs[attempt]
    if (known?.isFinal === true || withinMs === undefined) return known?.validate ?? null
    const result = compiled(schema, withinMs)
    const isLate = result === 'late'
    const validate = isLate ? null : result
    this.#compiled.set(digest, { validate, isFinal: !isLate, lateAttempts: attempt + 1 })
    return validate
  }
}

interface Compiled {
  /** Null: the schema cannot be used. */
  readonly validate: ValidateFunction | null
  readonly isFinal: boolean
  readonly lateAttempts: number
}

function compiled(schema: Json, withinMs: number): ValidateFunction | null | 'late' {
  if (JSON.stringify(schema).length > MAX_SCHEMA_BYTES || isDeeper(schema, MAX_DEPTH)) return null
  const Dialect = isClassic(schema) ? Ajv : Ajv2020
  // A schema of its own for each tool: their ids cannot meet.
  const ajv = new Dialect({ strict: false, validateFormats: false, verbose: true, inlineRefs: false, logger: false })
  // The meta-schema takes longest to be compiled, and is not the server's: it is outside of the time.
  void ajv.validateSchema({})
  let validate: ValidateFunction | null = null
  try {
    within(withinMs, () => {
      validate = ajv.compile(plain(schema) as Json)
    })
  } catch (cause) {
    return isTimeout(cause) ? 'late' : null
  }
  return validate
}

/** Drafts in which `items` may be a list. Schemas that name no draft are of 2020-12, as the protocol says. */
function isClassic({ $schema }: Json): boolean {
  return typeof $schema === 'string' && /^https?:\/\/json-schema\.org\/draft-0[67]\/schema#?$/.test($schema)
}

function isTimeout(cause: unknown): boolean {
  return isJson(cause) && cause['code'] === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
}

/** A copy without what would load or name other schemas. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (!isJson(value)) return value
  const members = Object.entries(value).filter(([name, member]) => !isNameOfSchema(name, member))
  return Object.fromEntries(members.map(([name, member]) => [name, plain(member)]))
}

function isNameOfSchema(name: string, member: unknown): boolean {
  return (name === '$schema' || name === '$id' || name === '$async') && (typeof member === 'string' || member === true)
}

/** Runs `work`, and stops it after `ms`. */
function within(ms: number, work: () => void): void {
  sandbox.work = work
  RUN.runInContext(sandbox, { timeout: ms })
}
