/** The load on a front at one moment. */
export interface Signals {
  /** Mean lateness of the event loop, milliseconds. */
  readonly loopDelayMs: number
  /** Share of the time in which the event loop had work, not in which it waited for some. */
  readonly loopBusyShare: number
  /** Requests in flight ÷ the most that may be in flight. */
  readonly inFlightShare: number
  /** Used share of the process's memory limit or of its heap limit, whichever is larger. */
  readonly memoryShare: number
  /** Bytes of unwritten journal records ÷ the most that may be held. */
  readonly journalShare: number
  /** Free space on the journal's disk ÷ the space that must stay free; below 1 it is used. */
  readonly diskFreeShare: number
}

/** 0: no shedding. 1: new requests hardly wait for an upstream. 2: also fewer requests at a time. 3: only a few requests. */
export type Level = 0 | 1 | 2 | 3

export type Cause = 'none' | 'loop' | 'in-flight' | 'memory' | 'journal' | 'disk'

export interface Pressure {
  readonly level: Level
  readonly cause: Cause
  /** The value of the causing signal: milliseconds for the loop, a share for the others. */
  readonly value: number
}

export const NO_PRESSURE: Pressure = { level: 0, cause: 'none', value: 0 }

type Thresholds = readonly [one: number, two: number, three: number]

/**
 * The values at which each signal asks for levels 1, 2 and 3. Of several signals that ask for the same level, the first is
 * the cause. Loop delay is in shares of its target. `disk` is negated: less is worse.
 */
const THRESHOLDS: ReadonlyArray<readonly [Cause, Thresholds]> = [
  ['in-flight', [0.9, Infinity, Infinity]],
  ['memory', [0.8, 0.9, 0.95]],
  ['journal', [0.05, 0.25, 0.5]],
  ['disk', [-4, -2, -1]],
  // A late loop never asks for level 3: it shows too many requests at a time, or one stall of the machine.
  ['loop', [0.5, 1, Infinity]],
]

/** A loop that waits for work in more than a tenth of the time is late because of other programs: shedding would not help. */
const SATURATED = 0.9

/** The highest level that a signal asks for, with that signal as the cause. */
export function pressureOf(signals: Signals, loopDelayTargetMs: number): Pressure {
  const values: Readonly<Record<Cause, number>> = {
    none: 0,
    loop: signals.loopBusyShare < SATURATED ? 0 : signals.loopDelayMs,
    'in-flight': signals.inFlightShare,
    memory: signals.memoryShare,
    journal: signals.journalShare,
    disk: signals.diskFreeShare,
  }
  const pressing = { ...values, loop: values.loop / loopDelayTargetMs, disk: -values.disk }
  let highest = NO_PRESSURE
  for (const [cause, thresholds] of THRESHOLDS) {
    const level = thresholds.filter((threshold) => pressing[cause] >= threshold).length as Level
    if (level > highest.level) highest = { level, cause, value: values[cause] }
  }
  return highest
}
