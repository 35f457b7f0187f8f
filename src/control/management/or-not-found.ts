import { GatewayError } from '../../shared/core/errors.ts'

/** Throws NOT_FOUND for null. */
export function orNotFound<Thing>(thing: Thing | null): Thing {
  if (thing === null) throw new GatewayError('NOT_FOUND')
  return thing
}
