import { GatewayError } from '../../../shared/core/errors.ts'

/** Waits for work that others share. Rejects with CLIENT_CLOSED when the signal aborts; the work goes on. */
export function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      reject(new GatewayError('CLIENT_CLOSED'))
    }
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
    work.then(resolve, reject).finally(() => {
      signal.removeEventListener('abort', leave)
    })
  })
}
