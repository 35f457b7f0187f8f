import { existsSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { ValidateFunction } from 'ajv'
import { fieldError } from '../../shared/core/field-error.ts'
import type { RequestFields } from '../../shared/core/request-body.ts'
import { SERVED_ENDPOINTS } from '../../shared/endpoints/index.ts'

/** Checks a parsed body and reads its fields. Throws INVALID_FIELD, or the endpoint's own errors. */
export type BodyReader = (value: unknown) => RequestFields

/** The compiled schemas, which a build makes of `validators-source.ts`. */
const BUILT = fileURLToPath(new URL('validators.js', import.meta.url))

const checks = existsSync(BUILT) ? await builtChecks() : (await import('./compile-schemas.ts')).compileSchemas()

async function builtChecks(): Promise<readonly ValidateFunction[]> {
  const built = (await import(pathToFileURL(BUILT).href)) as { readonly default: Record<string, ValidateFunction> }
  return SERVED_ENDPOINTS.map(({ name }, index) => {
    const check = built.default[`validate${index}`]
    if (check === undefined) throw new Error(`${BUILT} has no check for ${name}`)
    return check
  })
}

/** The readers by endpoint name. */
export function createReaders(): ReadonlyMap<string, BodyReader> {
  return new Map(
    SERVED_ENDPOINTS.map(({ name, fields }, index) => {
      const fits = checks[index]
      if (fits === undefined) throw new Error(`no check for ${name}`)
      const read: BodyReader = (value) => {
        if (!fits(value)) throw fieldError(fits.errors?.[0])
        return fields(value)
      }
      return [name, read]
    }),
  )
}
