import standalone from 'ajv/dist/standalone/index.js'
import { SERVED_ENDPOINTS } from '../../shared/endpoints/index.ts'
import { createAjv } from './compile-schemas.ts'

/** The source text of a CommonJS module that exports what `compileSchemas` returns, as `validate0`, `validate1` and so on. */
export function validatorsSource(): string {
  const ajv = createAjv(true)
  const names = SERVED_ENDPOINTS.map(({ body }, index) => {
    const name = `validate${index}`
    ajv.addSchema(body, name)
    return [name, name] as const
  })
  return standalone.default(ajv, Object.fromEntries(names))
}
