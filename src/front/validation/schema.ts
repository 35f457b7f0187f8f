import { Ajv } from 'ajv'
import { fieldError } from '../../shared/core/field-error.ts'
import type { RequestFields } from '../../shared/core/request-body.ts'
import type { ServedEndpoint } from '../../shared/endpoints/declare.ts'
import { SERVED_ENDPOINTS } from '../../shared/endpoints/index.ts'

/** Checks a parsed body and reads its fields. Throws INVALID_FIELD, or the endpoint's own errors. */
export type BodyReader = (value: unknown) => RequestFields

/** The readers by endpoint name. Compiles all schemas, which takes some milliseconds. Does not coerce types or set defaults. */
export function compileReaders(): ReadonlyMap<string, BodyReader> {
  const ajv = new Ajv({
    strict: true,
    allowUnionTypes: true,
    discriminator: true,
    allErrors: false,
    coerceTypes: false,
    // Errors then contain their schema, from which the message takes the whole range.
    verbose: true,
  })
  const readerOf = ({ body, fields }: ServedEndpoint): BodyReader => {
    const fits = ajv.compile(body)
    return (value) => {
      if (!fits(value)) throw fieldError(fits.errors?.[0])
      return fields(value)
    }
  }
  return new Map(SERVED_ENDPOINTS.map((endpoint) => [endpoint.name, readerOf(endpoint)]))
}
