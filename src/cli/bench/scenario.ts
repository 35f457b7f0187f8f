import type { Doses } from './doses.ts'
import type { ScenarioName, ScenarioResult } from './result.ts'
import type { Spend } from './spend.ts'
import type { Target } from './target.ts'
import type { TraceRequest } from './traces.ts'

/** The surroundings of a scenario. */
export interface Bench {
  readonly target: Target
  readonly doses: Doses
  readonly trace: readonly TraceRequest[]
  readonly spend: Spend
  readonly signal: AbortSignal
}

/** The most that a scenario sends and gets. */
export interface Need {
  readonly requests: number
  readonly promptTokens: number
  readonly completionTokens: number
}

export type Outcome = Omit<ScenarioResult, 'name' | 'status' | 'from' | 'seconds'>

export interface Scenario {
  readonly name: ScenarioName
  readonly title: string
  /** One sentence for the report. */
  readonly about: string
  /** The reason why it cannot run against a target; null: it can. */
  readonly lacks: (target: Target) => string | null
  readonly need: (bench: Pick<Bench, 'doses' | 'trace'>) => Need
  readonly run: (bench: Bench) => Promise<Outcome>
}

/** An outcome without figures. */
export const NO_FIGURES = {
  problems: [],
  requests: 0,
  failures: 0,
  perSecond: null,
  events: null,
  total: null,
  first: null,
  lateness: null,
  sentLate: null,
  cpu: null,
  figures: [],
} as const satisfies Outcome
