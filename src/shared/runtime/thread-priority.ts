import { constants, getPriority, setPriority } from 'node:os'

/** Makes the calling thread, no other of its process, give way to what is less nice than `niceness`. It never takes priority back. */
export function yieldTo(niceness: number): void {
  // The number 0 is the caller; on Linux that is a thread.
  setPriority(0, Math.min(Math.max(getPriority(0), niceness), constants.priority.PRIORITY_LOW))
}
