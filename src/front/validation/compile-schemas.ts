import { Ajv } from 'ajv'
import type { ValidateFunction } from 'ajv'
import { SERVED_ENDPOINTS } from '../../shared/endpoints/index.ts'

/**
 * The check of a body for each of `SERVED_ENDPOINTS`, in their order. Does not coerce types or set defaults. Takes a tenth of a second,
 * therefore a build does it, see `validators-source.ts`.
 */
export function compileSchemas(): readonly ValidateFunction[] {
  const ajv = createAjv(false)
  return SERVED_ENDPOINTS.map(({ body }) => ajv.compile(body))
}

/** @param source whether functions keep their source text */
export function createAjv(source: boolean): Ajv {
  return new Ajv({
    strict: true,
    allowUnionTypes: true,
    discriminator: true,
    allErrors: false,
    coerceTypes: false,
    // Errors then contain their schema, from which the message takes the whole range.
    verbose: true,
    // Strict mode finds mistakes in the schemas. To check them against the meta-schema too, Ajv must compile it first.
    meta: false,
    validateSchema: false,
    code: { source },
  })
}
