import { listUsageHours } from '../store/alert-readings.ts'
import type { UsageHour } from '../store/alert-readings.ts'
import type { Queryable } from '../store/database.ts'

const HOUR_MS = 3_600_000
const WINDOW_MS = 300_000
/** The hours that a sample has: the present one and the one before. */
const HOURS_BACK = 1

/** Sums over some time. */
export interface UsageSums {
  readonly requests: number
  readonly errors: number
  readonly ttftUs: number
  readonly ttftCount: number
}

interface Sample {
  readonly atMs: number
  /** By enterprise and hour; the platform is ''. */
  readonly hours: ReadonlyMap<string, ReadonlyMap<number, UsageSums>>
}

const NONE: UsageSums = { requests: 0, errors: 0, ttftUs: 0, ttftCount: 0 }
/** In place of an enterprise: all requests. */
const PLATFORM = ''

/**
 * Sums of settled requests over the last five minutes, from the hourly rollups: each is the difference of two looks at them. What was
 * settled before the first look of this process is not counted, so a restart tells nothing again.
 */
export class UsageWindows {
  readonly #everyMs: number
  #samples: Sample[] = []
  /** The enterprises of the last sample. */
  #scope = ''

  constructor(everyMs: number) {
    this.#everyMs = everyMs
  }

  /** Looks at the rollups, when it is time to. @param enterpriseIds null stands for all requests */
  async look(queryable: Queryable, enterpriseIds: ReadonlyArray<string | null>, nowMs: number): Promise<void> {
    const scope = JSON.stringify([...new Set(enterpriseIds)].sort())
    const last = this.#samples.at(-1)
    if (scope === this.#scope && last !== undefined && nowMs - last.atMs < this.#everyMs) return
    const from = new Date((Math.floor(nowMs / HOUR_MS) - HOURS_BACK) * HOUR_MS)
    const ids = enterpriseIds.includes(null) ? null : enterpriseIds.filter((id) => id !== null)
    const rows = await listUsageHours(queryable, from, ids)
    const sample = { atMs: nowMs, hours: hoursOf(rows, enterpriseIds) }
    this.#scope = scope
    // After a gap, as when another machine looked, the window begins anew.
    const isGap = last !== undefined && nowMs - last.atMs > WINDOW_MS
    // One sample at the edge of the window or before it stays.
    const oldest = this.#samples.findLastIndex(({ atMs }) => atMs <= nowMs - WINDOW_MS)
    this.#samples = isGap ? [sample] : [...this.#samples.slice(Math.max(0, oldest)), sample]
  }

  /** The sums of an enterprise, or of all requests; null: it has not been looked at twice. */
  of(enterpriseId: string | null): UsageSums | null {
    const name = enterpriseId ?? PLATFORM
    const newest = this.#samples.at(-1)
    const oldest = this.#samples.find(({ hours }) => hours.has(name))
    if (newest === undefined || oldest === undefined || oldest === newest) return null
    const before = oldest.hours.get(name)
    let sums = NONE
    for (const [hourMs, now] of newest.hours.get(name) ?? []) {
      sums = added(sums, now, before?.get(hourMs) ?? NONE)
    }
    return sums
  }
}

function hoursOf(rows: readonly UsageHour[], enterpriseIds: ReadonlyArray<string | null>): Sample['hours'] {
  const hours = new Map(enterpriseIds.map((id) => [id ?? PLATFORM, new Map<number, UsageSums>()]))
  for (const row of rows) {
    add(hours.get(PLATFORM), row)
    if (row.enterpriseId !== PLATFORM) add(hours.get(row.enterpriseId), row)
  }
  return hours
}

function add(hours: Map<number, UsageSums> | undefined, row: UsageHour): void {
  if (hours === undefined) return
  hours.set(row.hourMs, added(hours.get(row.hourMs) ?? NONE, row, NONE))
}

/** `sums` and what has come since `before`. */
function added(sums: UsageSums, now: UsageSums, before: UsageSums): UsageSums {
  return {
    requests: sums.requests + now.requests - before.requests,
    errors: sums.errors + now.errors - before.errors,
    ttftUs: sums.ttftUs + now.ttftUs - before.ttftUs,
    ttftCount: sums.ttftCount + now.ttftCount - before.ttftCount,
  }
}
