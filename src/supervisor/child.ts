import type { ControlSetup, EndReason, FromChild, FrontSetup, ToChild } from './messages.ts'

/** How long a process may outlive its supervisor. */
const ORPHAN_MS = 10_000

/** What the supervisor's word to end does. A process that has nothing to finish yet just ends. */
let drainNow: (reason: EndReason) => void = () => {
  leave(0)
}
let announceEnd: () => void = () => undefined
let leaving = false

/** Waits for the supervisor's setup, then runs; a failure is told to the supervisor and ends the process. */
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
    // Nobody is left who would end it: a drain may wait for a stream, or for a database that is away.
    setTimeout(() => {
      process.exit(1)
    }, ORPHAN_MS).unref()
  })
  // Signals of a terminal reach all processes of the group; the supervisor is the one that acts on them.
  process.on('SIGINT', () => undefined)
  process.on('SIGTERM', () => undefined)
}

/**
 * Runs `drain` once: when the supervisor asks, or when it is gone. The process ends when it resolves. `announce` runs when the
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

/** Says why this process cannot go on, in one line, and ends it. */
export function reportFatal(cause: unknown): void {
  tellSupervisor({ type: 'fatal', message: cause instanceof Error ? cause.message : String(cause) })
  leave(1)
}

/** Exits once what was said has been written. */
function leave(code: number): void {
  if (leaving) return
  leaving = true
  process.exitCode = code
  setImmediate(() => {
    // Not while Node hands over messages that came before anybody listened: it would miss its channel.
    if (process.connected) process.disconnect()
    setImmediate(() => process.exit(code))
  })
}
