import type { ControlSetup, EndReason, FromChild, FrontSetup, ToChild } from './messages.ts'

/** How long a process may outlive its supervisor. */
const ORPHAN_MS = 10_000

/** Runs when the supervisor asks this process to end. Until `drainOnRequest` replaces it, the process exits at once. */
let drainNow: (reason: EndReason) => void = () => {
  leave(0)
}
let announceEnd: () => void = () => undefined
let leaving = false

/** Waits for the supervisor's setup and calls `run` with it; calls `fail` when `run` rejects. */
export function receiveSetup<Setup extends FrontSetup | ControlSetup>(
  run: (setup: Setup) => Promise<void>,
  fail: (cause: unknown) => void,
): void {
  process.on('message', (message: ToChild) => {
    if (message.type === 'setup') run(message as Setup).catch(fail)
    else if (message.type === 'leave') announceEnd()
    else drainNow(message.reason)
  })
  process.on('disconnect', () => {
    drainNow('orphaned')
    // No supervisor is left to kill this process, and a drain can wait for a stream or for a database that is away.
    setTimeout(() => {
      process.exit(1)
    }, ORPHAN_MS).unref()
  })
  // A terminal sends its signals to all processes of the group; only the supervisor acts on them.
  process.on('SIGINT', () => undefined)
  process.on('SIGTERM', () => undefined)
}

/**
 * Runs `drain` once, when the supervisor asks for it or is gone. The process ends when `drain` resolves. `announce` runs when the
 * supervisor says that it will ask soon.
 */
export function drainOnRequest(
  drain: (reason: EndReason) => Promise<void>,
  announce: () => void = () => undefined,
): void {
  let draining = false
  announceEnd = announce
  drainNow = (reason) => {
    if (draining) return
    draining = true
    drain(reason).then(() => {
      leave(0)
    }, reportFatal)
  }
}

export function tellSupervisor(message: FromChild): void {
  if (process.connected) process.send?.(message)
}

/** Tells the supervisor in one line why this process cannot continue, and ends the process. */
export function reportFatal(cause: unknown): void {
  tellSupervisor({ type: 'fatal', message: cause instanceof Error ? cause.message : String(cause) })
  leave(1)
}

/** Exits once the messages to the supervisor are written. */
function leave(code: number): void {
  if (leaving) return
  leaving = true
  process.exitCode = code
  setImmediate(() => {
    // Not earlier: Node may still deliver messages that came before the listener, and needs the channel for this.
    if (process.connected) process.disconnect()
    setImmediate(() => process.exit(code))
  })
}
