/** The value of one subject that an alert watches, at one time. */
export interface Reading {
  /** Names what is watched, and its period: a new month is a new subject. */
  readonly subject: string
  /** Null: not known now. What was known before still holds. */
  readonly value: number | null
  /** Ascending. A threshold is crossed when the value is at it or above. */
  readonly thresholds: readonly number[]
  /** The distance that the value must fall below a threshold before it can be crossed again. */
  readonly marginOf: (threshold: number) => number
  /** The time for which it must stay there, in milliseconds. */
  readonly holdMs: number
  readonly details: ReadingDetails
}

/** The description of the subject in a message. */
export interface ReadingDetails {
  readonly type: string
  readonly id: string
  readonly name: string
  /** The sentence of the message. @param level the threshold that was crossed */
  readonly say: (level: number) => string
  /** The threshold as people give it, where it differs from the level. */
  readonly thresholdOf?: (level: number) => number
  /** The value as people read it; null: there is none. */
  readonly shownValue: number | null
}

/** The state of a subject while it is beyond a threshold. */
export interface Standing {
  readonly level: number
  /** Unix milliseconds; null: it is not below. */
  readonly clearSinceMs: number | null
}

/** The next standing; null: it is below all thresholds. `crossed` is the threshold to be told; null: there is nothing new. */
export interface Judgement {
  readonly next: Standing | null
  readonly crossed: number | null
}

/**
 * Compares a reading with where its subject stands. Each threshold is crossed once, until the value has fallen clearly below it. Of
 * several thresholds that are crossed at the same time, only the highest is told.
 */
export function judge(reading: Reading, standing: Standing | null, nowMs: number): Judgement {
  const { value, thresholds, marginOf, holdMs } = reading
  if (value === null) return { next: standing, crossed: null }
  const reached = thresholds.findLast((threshold) => value >= threshold) ?? null
  if (standing === null) return reached === null ? NOTHING : { next: at(reached), crossed: reached }
  if (reached !== null && reached > standing.level) return { next: at(reached), crossed: reached }
  // A threshold may have been changed: a level that is none any more counts as the next one below it.
  const kept = thresholds.findLast((one) => one <= standing.level && value >= one - marginOf(one)) ?? null
  if (kept !== null) return { next: at(kept), crossed: null }
  const clearSinceMs = standing.clearSinceMs ?? nowMs
  if (nowMs - clearSinceMs >= holdMs) return NOTHING
  return { next: { level: standing.level, clearSinceMs }, crossed: null }
}

const NOTHING: Judgement = { next: null, crossed: null }

function at(level: number): Standing {
  return { level, clearSinceMs: null }
}
