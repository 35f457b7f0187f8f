import type { UpstreamDialectName } from '../../src/shared/core/endpoint.ts'
import { ERROR_CODES } from '../../src/shared/core/errors.ts'
import type { ErrorCode } from '../../src/shared/core/errors.ts'
import type { Settlement } from '../../src/shared/core/usage.ts'
import type { Behaviour } from '../../src/simulator/behaviour.ts'
import type { RawPlay } from './fault-upstream.ts'

/** The state of the upstream key after the fault. */
export type KeyAfter =
  /** One such answer changes nothing; five in a row open the circuit breaker. */
  | 'in use'
  /** Cooldown of about a second. */
  | 'rests'
  /** Cooldown for the time that the upstream named. */
  | 'rests as told'
  /** Cooldown of at least a minute. */
  | 'out'

/** The client's answer and the settlement. */
export type Expectation =
  /** The client gets an error answer, and nothing before it. No tokens are settled. */
  | {
      readonly kind: 'refused'
      readonly code: ErrorCode
      readonly key: KeyAfter
      readonly retryAfter?: number
      /** The code for chat clients. */ readonly clientCode?: string
      /** The attempt used all the time of the request: the gateway tries no other key. */ readonly isLast?: boolean
    }
  /** The client gets 200, the events before the fault, and an error event at the end. The sent tokens are settled as observed. */
  | { readonly kind: 'broken'; readonly code: ErrorCode }
  /** The client gets a complete answer. */
  | { readonly kind: 'whole'; readonly settlement: Settlement; readonly tokens?: readonly [number, number] }

/** The error code for the client when all tried upstreams fail in this way. */
export function toldCode({ code }: Extract<Expectation, { kind: 'refused' }>): ErrorCode {
  return code === 'UPSTREAM_NOT_FOUND' ? 'MODEL_NOT_FOUND' : code
}

/** Whether the gateway tries another key after the fault. */
export function asksAnother({ code, isLast }: Extract<Expectation, { kind: 'refused' }>): boolean {
  return ERROR_CODES[code].retryable && isLast !== true
}

export type FaultSource =
  | { readonly kind: 'simulator'; readonly behaviour: Behaviour }
  | { readonly kind: 'raw'; readonly play: RawPlay }
  | { readonly kind: 'closed port' }
  | { readonly kind: 'black hole' }

export interface Outcomes {
  /** Null: the fault does not exist for buffered answers. */
  readonly buffered: Expectation | null
  readonly streamed: Expectation | null
}

export interface UpstreamFault extends Outcomes {
  readonly name: string
  /** Describes the action of the upstream. */
  readonly upstream: string
  readonly source: FaultSource
  /** Outcomes of dialects that differ. */
  readonly only?: Partial<Record<UpstreamDialectName, Partial<Outcomes>>>
  /** This upstream has short timeouts, because the test waits for one. `idle`: all but the total timeout. */
  readonly hangs?: boolean | 'idle'
}

export interface FaultGroup {
  readonly title: string
  readonly faults: readonly UpstreamFault[]
}

/** The expectation for a fault in one dialect and mode; null: the fault does not exist there. */
export function expectationOf(fault: UpstreamFault, dialect: UpstreamDialectName, stream: boolean): Expectation | null {
  const outcomes: Outcomes = { ...fault, ...fault.only?.[dialect] }
  return stream ? outcomes.streamed : outcomes.buffered
}
