import { constants, getPriority, setPriority } from 'node:os'

/** Raises the niceness of the calling thread, not of its process, to at least `niceness`. Never lowers it. */
export function yieldTo(niceness: number): void {
  // The id 0 means the caller; on Linux that is the thread.
  setPriority(0, Math.min(Math.max(getPriority(0), niceness), constants.priority.PRIORITY_LOW))
}
