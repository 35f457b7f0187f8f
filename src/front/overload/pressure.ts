/** What presses on a front at one moment. */
export interface Signals {
  /** Mean lateness of the event loop. */
  readonly loopDelayMs: number
  /** Of the most requests that may be under way. */
  readonly inFlightShare: number
  /** Of the memory the process may take, or of its heap, whichever is scarcer. */
  readonly memoryShare: number
  /** Of the records that may be held back by a failing disk. */
  readonly journalShare: number
  /** Of the space that is to stay free on the journal's disk; below 1 it has been used. */
  readonly diskFreeShare: number
}

/** 0: none. 1: nothing new waits. 2: fewer at a time. 3: a trickle. */
export type Level = 0 | 1 | 2 | 3

export type Cause = 'none' | 'loop' | 'in-flight' | 'memory' | 'journal' | 'disk'

export interface Pressure {
  readonly level: Level
  readonly cause: Cause
  /** Of the signal that is the cause: milliseconds for the loop, a share for the others. */
  readonly value: number
}

export const NO_PRESSURE: Pressure = { level: 0, cause: 'none', value: 0 }

type Thresholds = readonly [one: number, two: number, three: number]

/** From which value on each signal asks for each level; of several that ask for the same, the first is the cause. Loop delay is in shares of its target, disk is the other way round. */
const THRESHOLDS: ReadonlyArray<readonly [Cause, Thresholds]> = [
  ['in-flight', [0.9, Infinity, Infinity]],
  ['memory', [0.8, 0.9, 0.95]],
  ['journal', [0.05, 0.25, 0.5]],
  ['disk', [-4, -2, -1]],
  // A late loop says that there is too much at a time, not that nothing goes any more: it may be one stall of the machine.
  ['loop', [0.5, 1, Infinity]],
]

/** The highest level that a signal asks for, and which one does. */
export function pressureOf(signals: Signals, loopDelayTargetMs: number): Pressure {
  const values: Readonly<Record<Cause, number>> = {
    none: 0,
    loop: signals.loopDelayMs,
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
