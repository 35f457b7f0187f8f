import { createRequire } from 'node:module'
import type { ValidateFunction } from 'ajv'
import { expect, it } from 'vitest'
import { compileSchemas } from '../../../src/front/validation/compile-schemas.ts'
import { validatorsSource } from '../../../src/front/validation/validators-source.ts'
import { SERVED_ENDPOINTS } from '../../../src/shared/endpoints/index.ts'

type Run = (require: NodeJS.Require, exports: Record<string, ValidateFunction>) => void

/** Bodies with a mistake in each member of the example, and without each member. */
function broken(example: object): readonly unknown[] {
  const values = [null, 'text', -1, true, [], {}, [{}], { type: 'unknown' }]
  return Object.keys(example).flatMap((name) => [
    Object.fromEntries(Object.entries(example).filter(([other]) => other !== name)),
    ...values.map((value) => ({ ...example, [name]: value })),
  ])
}

it('makes checks for the build that find the same errors as schemas compiled at run time', () => {
  const built: Record<string, ValidateFunction> = {}
  // eslint-disable-next-line @typescript-eslint/no-implied-eval
  const run = new Function('require', 'exports', validatorsSource()) as Run
  run(createRequire(import.meta.url), built)

  for (const [index, compiled] of compileSchemas().entries()) {
    const endpoint = SERVED_ENDPOINTS[index]
    const check = built[`validate${index}`]
    for (const body of [endpoint?.example, ...broken(endpoint?.example ?? {})]) {
      expect([check?.(body), check?.errors], endpoint?.name).toEqual([compiled(body), compiled.errors])
    }
  }
})
