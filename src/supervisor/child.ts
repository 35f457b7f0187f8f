import type { ConfigChange, ControlSetup, EndReason, FromChild, FrontSetup, Reconfigure, ToChild } from './messages.ts'

/** How long a process may outlive its supervisor. */
const ORPHAN_MS = 10_000

/** Runs when the supervisor asks this process to end. Until `drainOnRequest` replaces it, the process exits at once. */
let drainNow: (reason: EndReason) => void = () => {
  leave(0)
}
let announceEnd: () => void = () => undefined
let leaving = false

/** The ways in which a child takes a configuration that was read again. Each rejects with the reason why it cannot. */
export interface Reconfiguration {
  /** Makes what can fail, and changes nothing. */
  prepare(change: ConfigChange): Promise<void>
  apply(change: ConfigChange): Promise<void>
  discard(): void
}

let onReconfiguration: (reconfiguration: Reconfiguration) => void = () => undefined
/** Resolves when the child can take configurations: one that comes earlier waits. */
const reconfigurable = new Promise<Reconfiguration>((resolve) => (onReconfiguration = resolve))

/** Lets the supervisor change the configuration of this child from now on. */
export function reconfigureOnRequest(reconfiguration: Reconfiguration): void {
  onReconfiguration(reconfiguration)
}

/** One message at a time, in the order in which they came. */
let reconfiguring: Promise<void> = Promise.resolve()

async function reconfigure({ type, id, ...change }: Reconfigure): Promise<void> {
  try {
    const child = await reconfigurable
    await child[type](change)
    tellSupervisor({ type: 'configured', id, problem: null })
  } catch (cause) {
    tellSupervisor({ type: 'configured', id, problem: cause instanceof Error ? cause.message : String(cause) })
  }
}

/** Waits for the supervisor's setup and calls `run` with it; calls `fail` when `run` rejects. */
export function receiveSetup<Setup extends FrontSetup | ControlSetup>(
  run: (setup: Setup) => Promise<void>,
  fail: (cause: unknown) => void,
): void {
  process.on('message', (message: ToChild) => {
    if (message.type === 'setup') run(message as Setup).catch(fail)
    else if (message.type === 'leave') announceEnd()
    else if (message.type === 'prepare' || message.type === 'apply') {
      reconfiguring = reconfiguring.then(() => reconfigure(message))
    } else if (message.type === 'discard') {
      reconfiguring = reconfiguring.then(() => reconfigurable).then((child) => child.discard())
    } else drainNow(message.reason)
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
  process.on('SIGHUP', () => undefined)
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
