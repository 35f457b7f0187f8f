import { setTimeout as pause } from 'node:timers/promises'

/** Repeats `attempt` until it does not throw, and returns its result. Throws its last error at the deadline. */
export async function eventually<T>(
  attempt: () => T | Promise<T>,
  { timeoutMs = 30_000, everyMs = 25 }: { timeoutMs?: number; everyMs?: number } = {},
): Promise<T> {
  const endMs = Date.now() + timeoutMs
  for (;;) {
    try {
      return await attempt()
    } catch (cause) {
      if (Date.now() >= endMs) throw cause
    }
    await pause(everyMs)
  }
}
