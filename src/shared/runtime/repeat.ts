/**
 * Calls `work` every `everyMs`. An error in it ends neither the timer nor the process. The first error of each series of failed
 * calls goes to `onFault`.
 */
export function repeat(everyMs: number, work: () => void, onFault: (cause: unknown) => void): NodeJS.Timeout {
  let hasFailed = false
  return setInterval(() => {
    try {
      work()
      hasFailed = false
    } catch (cause) {
      if (!hasFailed) onFault(cause)
      hasFailed = true
    }
  }, everyMs)
}
