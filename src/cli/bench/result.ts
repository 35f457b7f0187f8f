import type { LatencySummary } from './latencies.ts'

export const SCENARIOS = [
  'buffered',
  'streamed',
  'translated',
  'large',
  'keys',
  'refusals',
  'failover',
  'replay',
  'affinity',
  'accounting',
] as const
export type ScenarioName = (typeof SCENARIOS)[number]

/** The bounds of the 99th percentile, in milliseconds, under which the throughput is told. */
export const P99_BOUNDS_MS = [1, 5, 10, 50, 100] as const

/** The content of the file of `--json`. */
export interface BenchResult {
  /** Format of this file. */
  readonly format: 1
  /** Start, ISO 8601. */
  readonly at: string
  readonly seconds: number
  readonly version: string
  /** `unknown` outside a checkout. */
  readonly commit: string
  readonly machine: Machine
  readonly target: TargetSummary
  readonly options: Readonly<Record<string, unknown>>
  readonly scenarios: readonly ScenarioResult[]
  readonly memory: readonly MemorySample[]
  /** Share of the machine, 0 to 1, that other programs than the bench and the laboratory took. */
  readonly elsewhere: number
}

export interface Machine {
  readonly node: string
  readonly cpus: number
  readonly model: string
  /** Load average of the minute before the bench. */
  readonly load: number
  readonly memoryMb: number
}

export interface TargetSummary {
  readonly kind: 'laboratory' | 'deployment'
  readonly url: string
  readonly model: string
  /** The provider charges for the requests. */
  readonly paid: boolean
  /** Dollars; null: not known. */
  readonly spent: number | null
}

export interface MemorySample {
  /** Seconds after the start. */
  readonly at: number
  readonly mb: number
}

export type Status = 'passed' | 'failed' | 'skipped'

export interface ScenarioResult {
  readonly name: ScenarioName
  readonly status: Status
  /** Reasons of a failure or of a skip, or notes. */
  readonly problems: readonly string[]
  /** Seconds after the start at which it began. */
  readonly from: number
  readonly seconds: number
  readonly requests: number
  /** Requests that were not answered as they should have been. */
  readonly failures: number
  readonly perSecond: number | null
  /** Events with text; null: answers were not streamed. */
  readonly events: number | null
  /** Milliseconds to the end of the answer. */
  readonly total: LatencySummary | null
  /** Milliseconds to the first event with text. */
  readonly first: LatencySummary | null
  /** Milliseconds by which events came later than the pace of the upstream says. */
  readonly lateness: LatencySummary | null
  /** Milliseconds by which this client sent late. */
  readonly sentLate: LatencySummary | null
  readonly cpu: Cpu | null
  /** Further figures of this scenario. */
  readonly figures: readonly Figure[]
  readonly steps?: readonly Step[]
  readonly policies?: readonly Policy[]
}

/** Microseconds of CPU of all processes of the gateway, until the last row was settled. */
export interface Cpu {
  readonly perRequestUs: number
  readonly perEventUs: number | null
}

export interface Figure {
  readonly label: string
  readonly value: number
  readonly unit: '' | 'ms' | '%' | 'µs' | 'MiB' | '/s' | '×'
}

/** A number of connections that each send their next request when they have an answer. */
export interface Step {
  readonly connections: number
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
}

/** A way to choose the replica that serves a request. */
export interface Policy {
  readonly name: string
  /** Share of the blocks of all prompts that were in the replica's cache, 0 to 1. */
  readonly hitRate: number
  readonly p50WaitMs: number
  readonly p99WaitMs: number
  /** Requests of the busiest replica over the mean. */
  readonly skew: number
}
