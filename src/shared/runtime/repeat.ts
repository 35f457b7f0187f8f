/**
 * Calls `work` every `everyMs`. An error in it ends neither the timer nor the process: it goes to `onFault`, once for each row of
 * calls that fail.
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
