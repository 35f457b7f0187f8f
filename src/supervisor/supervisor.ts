import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Logger } from '../shared/telemetry/logger.ts'
import type {
  ConfigChange,
  ControlNews,
  ControlSetup,
  EndReason,
  FirstRun,
  FromChild,
  FrontSetup,
  ToChild,
} from './messages.ts'

export type ChildKind = 'control' | 'front' | 'simulator'

export type SetupPlan = Omit<FrontSetup, 'type' | 'isRestart'> | Omit<ControlSetup, 'type' | 'isRestart'>

export interface ChildPlan {
  readonly kind: ChildKind
  readonly index: number
  /** Called at each start, while the child loads its modules. Null for children that need no setup. */
  readonly setup: (() => SetupPlan | Promise<SetupPlan>) | null
  /** Called at each start. */
  readonly env: () => Readonly<Record<string, string>>
  /** Only for the control process. */
  readonly onNews?: (news: ControlNews) => void
}

export interface Ready {
  readonly firstRun: FirstRun | null
  /** Only from the simulator. */
  readonly port: number | null
  /** Only from a front: name and version of its HTTP server. */
  readonly httpServer: string | null
}

const FIRST_BACKOFF_MS = 50
const LAST_BACKOFF_MS = 5_000
/** When a child ends that was ready for this long, its restart begins with the first back-off again. */
const STEADY_MS = 1_000
/** V8's helper threads also serve the workers of a front, at the priority of the serving thread: four could take all cores from it. */
const V8_HELPERS = `--v8-pool-size=${Math.max(1, Math.min(4, availableParallelism() - 1))}`
/**
 * The control process allocates megabytes per batch, and nearly all are dead when V8 collects them. Four threads that mark live
 * objects cost several times as much as one, and no request waits for them.
 */
const ONE_COLLECTOR = '--single-threaded-gc'
const V8_OPTIONS: Readonly<Record<ChildKind, readonly string[]>> = {
  control: [ONE_COLLECTOR, '--expose-gc'],
  front: [V8_HELPERS, '--expose-gc'],
  simulator: [],
}
/**
 * glibc gives each thread that allocates an arena of its own. V8 compiles the embedded database on several threads, and their arenas kept
 * 100 MB that nothing used. An operator's own value goes first.
 */
const ALLOCATOR: Readonly<Record<ChildKind, NodeJS.ProcessEnv>> = {
  control: { MALLOC_ARENA_MAX: '1' },
  front: {},
  simulator: {},
}
const ENTRIES: Readonly<Record<ChildKind, string>> = {
  control: '../control/main.js',
  front: '../front/main.js',
  simulator: '../simulator/main.js',
}

/** Runs one child process and restarts it whenever it ends, until `stop` is called. */
export class SupervisedChild {
  readonly #plan: ChildPlan
  readonly #logger: Logger
  readonly #onFatal: (message: string) => void
  #child: ChildProcess | null = null
  #backoffMs = FIRST_BACKOFF_MS
  #starts = 0
  #stopping = false
  #retry: NodeJS.Timeout | null = null
  #ended: (() => void) | null = null
  #stopped: Promise<void> | null = null
  #asked = 0
  readonly #answers = new Map<number, (problem: string | null) => void>()

  constructor(plan: ChildPlan, logger: Logger, onFatal: (message: string) => void) {
    this.#plan = plan
    this.#logger = logger
    this.#onFatal = onFatal
  }

  get kind(): ChildKind {
    return this.#plan.kind
  }

  get index(): number {
    return this.#plan.index
  }

  get pid(): number | null {
    return this.#child?.pid ?? null
  }

  /** Resolves when the child reports for the first time that it is ready. */
  start(): Promise<Ready> {
    return new Promise((resolve) => {
      this.#spawn(resolve)
    })
  }

  /** Tells the child that it will be asked to end soon. */
  announceEnd(): void {
    this.#tell({ type: 'leave' })
  }

  /** Asks the child to end, and kills it after `timeoutMs`. Resolves when it has ended. Only the first call asks. */
  stop(timeoutMs: number, reason: EndReason): Promise<void> {
    this.#stopped ??= this.#stop(timeoutMs, reason)
    return this.#stopped
  }

  #stop(timeoutMs: number, reason: EndReason): Promise<void> {
    this.#stopping = true
    if (this.#retry !== null) clearTimeout(this.#retry)
    const child = this.#child
    if (child === null) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        child.kill('SIGKILL')
      }, timeoutMs)
      const ended = (): void => {
        clearTimeout(timer)
        resolve()
      }
      this.#ended = ended
      if (this.#plan.kind === 'simulator') child.kill('SIGTERM')
      else this.#tell({ type: 'drain', reason })
    })
  }

  /**
   * Asks the child to prepare for a configuration, or to take it. Resolves with the reason why it cannot; null: it has done so, or it has
   * ended, and its next start gets the configuration of that time.
   */
  ask(what: 'prepare' | 'apply', change: ConfigChange, timeoutMs: number): Promise<string | null> {
    const child = this.#child
    if (child?.connected !== true) return Promise.resolve(null)
    const id = ++this.#asked
    return new Promise((resolve) => {
      const end = (problem: string | null): void => {
        clearTimeout(late)
        child.off('exit', gone)
        this.#answers.delete(id)
        resolve(problem)
      }
      const gone = (): void => {
        end(null)
      }
      const late = setTimeout(() => {
        end(`${this.#plan.kind}-${this.#plan.index} did not answer within ${timeoutMs / 1000} s`)
      }, timeoutMs)
      this.#answers.set(id, end)
      child.once('exit', gone)
      this.#tell({ type: what, id, ...change })
    })
  }

  discard(): void {
    this.#tell({ type: 'discard' })
  }

  /** Sends nothing to a child without a channel: it is about to end, and its exit is handled anyway. */
  #tell(message: ToChild): void {
    if (this.#child?.connected === true) this.#child.send(message, () => undefined)
  }

  #spawn(onReady: (ready: Ready) => void): void {
    const { kind, index, setup, env } = this.#plan
    const name = `${kind}-${index}`
    const startedAtMs = Date.now()
    let readyAtMs = Infinity
    this.#starts += 1
    const ended = (code: number | null, signal: NodeJS.Signals | null): void => {
      this.#child = null
      if (this.#stopping) {
        this.#ended?.()
        return
      }
      if (Date.now() - readyAtMs >= STEADY_MS) this.#backoffMs = FIRST_BACKOFF_MS
      this.#logger.warn({ child: name, code, signal, inMs: this.#backoffMs }, 'a child process ended; restarting it')
      this.#retry = setTimeout(() => {
        this.#spawn(onReady)
      }, this.#backoffMs)
      this.#backoffMs = Math.min(this.#backoffMs * 2, LAST_BACKOFF_MS)
    }
    let child: ChildProcess
    try {
      child = forkChild(kind, { ...process.env, ...env(), SLUICE_PROCESS: name })
    } catch (cause) {
      this.#logger.error({ err: cause, child: name }, 'a child process cannot be started; trying again')
      ended(null, null)
      return
    }
    this.#child = child
    const isRestart = this.#starts > 1
    const tell = async (): Promise<void> => {
      if (setup === null) return
      const told = await setup()
      if (child.connected) child.send({ type: 'setup', isRestart, ...told }, () => undefined)
    }
    tell().catch((cause: unknown) => {
      this.#logger.error({ err: cause, child: name }, 'a child process cannot get its setup; killing it')
      child.kill('SIGKILL')
    })
    child.on('message', (message: FromChild) => {
      if (message.type === 'ready') {
        readyAtMs = Date.now()
        this.#logger.debug({ child: name, afterMs: readyAtMs - startedAtMs }, 'a child process is ready')
        onReady({
          firstRun: message.firstRun ?? null,
          port: message.port ?? null,
          httpServer: message.httpServer ?? null,
        })
      } else if (message.type === 'waiting' || message.type === 'sole') this.#plan.onNews?.(message.type)
      else if (message.type === 'configured') this.#answers.get(message.id)?.(message.problem)
      else if (message.type === 'fatal' && this.#starts === 1) {
        this.#stopping = true
        this.#onFatal(message.message)
      } else this.#logger.error({ child: name }, message.message)
    })
    child.on('error', (cause) => {
      this.#logger.error({ err: cause, child: name }, 'a child process cannot be reached')
      // A child that was never started (too many processes or files) emits no exit event.
      if (child.pid === undefined) ended(null, null)
    })
    child.on('exit', ended)
  }
}

function forkChild(kind: ChildKind, env: NodeJS.ProcessEnv): ChildProcess {
  const output = kind === 'simulator' ? 'ignore' : 'inherit'
  return fork(fileURLToPath(new URL(ENTRIES[kind], import.meta.url)), [], {
    // Structured clones keep secrets; JSON would contain their redacted form.
    serialization: 'advanced',
    env: { ...ALLOCATOR[kind], ...env },
    execArgv: [...process.execArgv, ...V8_OPTIONS[kind]],
    // The simulator also prints its port on its standard output.
    stdio: [output, output, 'inherit', 'ipc'],
  })
}
