import { Ajv } from 'ajv'
import type { ValidateFunction } from 'ajv'
import type { OperationSpec } from '../../shared/api/operation.ts'
import { suggestion } from '../../shared/config/check.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { fieldError, fieldName } from '../../shared/core/field-error.ts'

const OPTIONS = {
  strict: true,
  // Ajv would compile the meta-schema first, which takes longer than any schema of an operation.
  meta: false,
  validateSchema: false,
  allowUnionTypes: true,
  allErrors: false,
  useDefaults: true,
  verbose: true,
  formats: { 'date-time': isTime },
} as const

// Years outside of 1000 to 9999 have another notation, which databases do not read.
const FIRST_MS = Date.UTC(1000, 0)
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
const ISO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/

/** Validates the input of management operations. An error for an unknown field names the field. */
export class OperationValidator {
  readonly #bodies = new Ajv(OPTIONS)
  /** All values of a query are texts. */
  readonly #queries = new Ajv({ ...OPTIONS, coerceTypes: true })
  readonly #compiled = new Map<object, ValidateFunction>()

  /** Throws INVALID_FIELD. */
  query(spec: OperationSpec, sent: URLSearchParams): unknown {
    const query: Record<string, unknown> = Object.fromEntries(sent)
    if (spec.query === undefined) {
      const [name] = Object.keys(query)
      if (name !== undefined) throw unknownField(name, [])
      return query
    }
    for (const [name, { type }] of Object.entries<{ readonly type?: unknown }>(spec.query.properties)) {
      if (type === 'array' && sent.has(name)) query[name] = sent.getAll(name)
    }
    return this.#check(this.#queries, spec.query, query)
  }

  /** Throws INVALID_FIELD. A request without a body has no fields. */
  body(spec: OperationSpec, sent: unknown): unknown {
    if (spec.body === undefined) return null
    const body = this.#check(this.#bodies, spec.body, sent === undefined ? {} : sent)
    refuseUnstorable(body, '')
    return body
  }

  #check(ajv: Ajv, schema: NonNullable<OperationSpec['body']>, value: unknown): unknown {
    const isClosed = !Object.hasOwn(schema, 'additionalProperties')
    if (isClosed && typeof value === 'object' && value !== null && !Array.isArray(value)) {
      const names = Object.keys(schema.properties)
      for (const name of Object.keys(value)) if (!names.includes(name)) throw unknownField(name, names)
    }
    let validate = this.#compiled.get(schema)
    if (validate === undefined) this.#compiled.set(schema, (validate = ajv.compile(schema)))
    if (!validate(value)) throw fieldError(validate.errors?.[0])
    refuseInfinity(value)
    return value
  }
}

function unknownField(name: string, names: readonly string[]): GatewayError {
  const pointer = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
  return new GatewayError('INVALID_FIELD', {
    param: pointer,
    message: `This operation has no field of this name${suggestion(name, names) || '.'}`,
  })
}

/** Databases refuse NUL and lone surrogates. */
function refuseUnstorable(value: unknown, pointer: string): void {
  if (typeof value === 'string' && /[\0\p{Surrogate}]/u.test(value)) {
    const message = `${fieldName(pointer)} must not contain NUL or lone surrogates.`
    throw new GatewayError('INVALID_FIELD', { param: pointer, message })
  }
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) refuseUnstorable(member, `${pointer}/${name}`)
}

/** Ajv coerces the text `Infinity` to a number that passes as an integer and below every maximum. */
function refuseInfinity(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    if (typeof member !== 'number' || Number.isFinite(member)) continue
    throw new GatewayError('INVALID_FIELD', { param: `/${name}`, message: `${name} must be a finite number.` })
  }
}

function isTime(text: string): boolean {
  const timeMs = ISO_TIME.test(text) ? Date.parse(text) : Number.NaN
  return timeMs >= FIRST_MS && timeMs <= LAST_MS
}
