const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** The midnights of the time zones whose distance from UTC is no whole hour, in hours and minutes of UTC. */
const ODD_MIDNIGHTS = [
  [2, 30], // Newfoundland, in summer
  [3, 30], // Newfoundland
  [9, 30], // Marquesas
  [10, 15], // Chatham, in summer
  [11, 15], // Chatham
  [13, 30], // Adelaide, in summer; Lord Howe
  [14, 30], // Adelaide, Darwin
  [15, 15], // Eucla
  [17, 30], // Yangon
  [18, 15], // Kathmandu
  [18, 30], // Kolkata, Colombo
  [19, 30], // Kabul
  [20, 30], // Tehran
] as const

/** The starts of the rows of a day, in milliseconds: full hours and odd midnights. */
const STARTS: readonly number[] = [
  ...Array.from({ length: 24 }, (_, hour) => hour * HOUR_MS),
  ...ODD_MIDNIGHTS.map(([hour, minute]) => hour * HOUR_MS + minute * 60_000),
].sort((a, b) => a - b)

/** The part of an hour that one row of the hourly sums stands for: the whole hour, unless a midnight is in it. */
export interface HourPart {
  readonly startMs: number
  /** Exclusive. */
  readonly endMs: number
}

/** Returns the part of an hour that has the instant. */
export function hourPartAt(atMs: number): HourPart {
  const dayMs = Math.floor(atMs / DAY_MS) * DAY_MS
  let index = Math.floor((atMs - dayMs) / HOUR_MS)
  while (index + 1 < STARTS.length && dayMs + (STARTS[index + 1] as number) <= atMs) index += 1
  return { startMs: dayMs + (STARTS[index] as number), endMs: dayMs + (STARTS[index + 1] ?? DAY_MS) }
}
