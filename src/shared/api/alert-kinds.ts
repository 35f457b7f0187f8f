/** The value that an alert of a kind compares with its threshold. */
export interface AlertKindSpec {
  readonly unit: 'percent' | 'milliseconds' | 'seconds' | 'days' | null
  /** Levels of an alert without a threshold, ascending; `latency` and the others with a bound have one. */
  readonly levels: readonly number[]
  /** The allowed thresholds; null: the kind has no threshold. */
  readonly range: { readonly least: number; readonly most: number } | null
  /** Alerts of enterprises may be of this kind. */
  readonly isForEnterprises: boolean
}

export const ALERT_KINDS = {
  budget: kind('percent', [50, 80, 100], [1, 1_000], true),
  wallet: kind('percent', [50, 80, 100], [1, 1_000], true),
  error_rate: kind('percent', [10], [0.1, 100], true),
  latency: kind('milliseconds', [10_000], [1, 3_600_000], true),
  key_disabled: kind(null, [], null, true),
  upstream_down: kind(null, [], null, false),
  journal_behind: kind('seconds', [], [1, 86_400], false),
  certificate: kind('days', [1, 7, 14], [1, 365], false),
} as const satisfies Record<string, AlertKindSpec>

export type AlertKind = keyof typeof ALERT_KINDS

export const ALL_ALERT_KINDS = Object.keys(ALERT_KINDS) as AlertKind[]

export const ENTERPRISE_ALERT_KINDS = ALL_ALERT_KINDS.filter((name) => ALERT_KINDS[name].isForEnterprises)

function kind(
  unit: AlertKindSpec['unit'],
  levels: readonly number[],
  range: readonly [least: number, most: number] | null,
  isForEnterprises: boolean,
): AlertKindSpec {
  return { unit, levels, range: range === null ? null : { least: range[0], most: range[1] }, isForEnterprises }
}
