import type { Handlers } from '../../src/control/management/call.ts'

/** A call of an operation with those members alone that its handler uses. */
export function callOf<Name extends keyof Handlers>(call: object): Parameters<Handlers[Name]>[0] {
  return call as unknown as Parameters<Handlers[Name]>[0]
}
