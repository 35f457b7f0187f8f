import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { configChanges } from '../shared/config/changes.ts'
import { ConfigError } from '../shared/config/config-error.ts'
import type { Config } from '../shared/config/shape.ts'
import type { Logger } from '../shared/telemetry/logger.ts'
import type { ConfigChange } from './messages.ts'
import { ConfigWatch, fileState } from './config-watch.ts'
import type { FileStates } from './config-watch.ts'
import type { SupervisedChild } from './supervisor.ts'

type Child = Pick<SupervisedChild, 'ask' | 'discard'>

/** A child that has not answered by then counts as failed: the control process waits for the database. */
const ANSWER_MS = 30_000
const RETRY_MS = 30_000

/** A configuration, and the files that it was read from. */
export interface ReadConfig {
  readonly config: Config
  readonly files: FileStates
}

export interface ReloadOptions {
  readonly first: ReadConfig
  /** Reads the configuration anew. Throws ConfigError; `onFile` gets each file before it is read. */
  readonly read: (onFile: (file: string) => void) => Config
  readonly fronts: () => readonly Child[]
  readonly control: () => Child | undefined
  readonly logger: Logger
  /** Time until a configuration that a process refused is tried again: the database may have been away. Default: 30 s. */
  readonly retryMs?: number
}

/**
 * Takes a changed configuration into the running gateway, wholly or not at all: a configuration with an error, or one that a process
 * cannot prepare for, changes nothing.
 */
export class Reload {
  readonly #options: ReloadOptions
  readonly #watch: ConfigWatch
  readonly #retryMs: number
  #running: Config
  /** The control process may have taken a part of a configuration that was refused. */
  #isControlUnsure = false
  /** Digest of the certificate that fronts serve; null: not all serve the same. */
  #certificate: string | null
  /** The reload under way; never rejects. */
  #work: Promise<void> = Promise.resolve()
  /** The reload that begins after it. */
  #queued: Promise<void> | null = null
  #retry: NodeJS.Timeout | null = null
  #isStopped = false

  constructor(options: ReloadOptions) {
    this.#options = options
    this.#retryMs = options.retryMs ?? RETRY_MS
    const { config, files } = options.first
    this.#running = config
    this.#certificate = certificateOf(config)
    const onFault = (cause: unknown): void => {
      options.logger.error({ err: cause }, 'the files of the configuration cannot be watched')
    }
    this.#watch = new ConfigWatch(files, () => void this.run(), onFault)
  }

  /** The configuration for children that start. */
  get config(): Config {
    return this.#running
  }

  /** Reads the configuration, after a reload that is under way. Resolves when a reload that began after this call is over. */
  run(): Promise<void> {
    this.#queued ??= this.#work.then(() => {
      this.#queued = null
      this.#work = this.#run().catch((cause: unknown) => {
        this.#options.logger.error({ err: cause }, 'the configuration was not changed')
      })
      return this.#work
    })
    return this.#queued
  }

  stop(): void {
    this.#isStopped = true
    this.#watch.stop()
    if (this.#retry !== null) clearTimeout(this.#retry)
  }

  async #run(): Promise<void> {
    if (this.#isStopped) return
    if (this.#retry !== null) clearTimeout(this.#retry)
    const { logger } = this.#options
    const fresh = this.#read()
    if (fresh === null) return
    const certificate = certificateOf(fresh)
    const changes = configChanges(this.#running, fresh, certificate !== this.#certificate)
    if (changes.live.length > 0 || this.#isControlUnsure) {
      const failure = await this.#spread(changes.config, changes.isNewCertificate, certificate)
      if (failure !== null) {
        const fields = { problem: failure, retryInMs: this.#retryMs }
        logger.error(fields, 'the configuration was not changed: a process refused it')
        this.#tryAgain()
        return
      }
    }
    this.#running = changes.config
    const fields = { changed: changes.live, needRestart: changes.needRestart }
    if (changes.needRestart.length > 0)
      logger.warn(fields, 'the configuration was read again; some changes need a restart')
    else if (changes.live.length > 0) logger.info(fields, 'the configuration was read again')
    else logger.info(fields, 'the configuration was read again; nothing has changed')
  }

  /** Returns null after it has logged each error. Watches the files that were read, or that are to be corrected. */
  #read(): Config | null {
    const { read, logger } = this.#options
    const files = new Map<string, string>()
    try {
      const fresh = read((file) => {
        files.set(file, files.get(file) ?? fileState(file))
      })
      refuseLoss(this.#running, fresh)
      this.#watch.follow(files)
      return fresh
    } catch (cause) {
      // The reading may have ended before it came to them.
      const others = filesOf(this.#running).filter((file) => !files.has(file))
      this.#watch.follow(new Map([...files, ...others.map((file) => [file, fileState(file)] as const)]))
      if (!(cause instanceof ConfigError)) throw cause
      for (const problem of cause.problems) {
        logger.error({ problem: problem.message }, 'the configuration was not changed: it has an error')
      }
      return null
    }
  }

  /** Returns the reason why a process refused; then none of them has taken the configuration. */
  async #spread(config: Config, isNewCertificate: boolean, certificate: string): Promise<string | null> {
    const { fronts, control } = this.#options
    const change: ConfigChange = { config, isNewCertificate }
    const all = fronts()
    const prepared = await Promise.all(all.map((front) => front.ask('prepare', change, ANSWER_MS)))
    const refusal = prepared.find((one) => one !== null) ?? null
    const failure = refusal ?? (await this.#tellControl(control(), change))
    if (failure !== null) {
      for (const front of all) front.discard()
      return failure
    }
    // A child that starts anew meanwhile gets this configuration as its setup.
    this.#running = config
    this.#isControlUnsure = false
    const applied = await Promise.all(fronts().map((front) => front.ask('apply', change, ANSWER_MS)))
    const problems = applied.filter((problem) => problem !== null)
    for (const problem of problems) {
      this.#options.logger.error({ problem }, 'a front goes on with the configuration before')
    }
    this.#certificate = problems.length === 0 ? certificate : null
    if (problems.length > 0) this.#tryAgain()
    return null
  }

  /** Returns the reason why the control process has not taken the configuration; then it has the one before. */
  async #tellControl(control: Child | undefined, change: ConfigChange): Promise<string | null> {
    if (control === undefined) return null
    const failure = await control.ask('apply', change, ANSWER_MS)
    if (failure === null) return null
    this.#isControlUnsure = true
    // It may have taken a part, or may take all of it later: it works on one message at a time.
    await control.ask('apply', { config: this.#running, isNewCertificate: false }, ANSWER_MS)
    return failure
  }

  #tryAgain(): void {
    if (this.#isStopped) return
    this.#retry = setTimeout(() => void this.run(), this.#retryMs).unref()
  }
}

/** Refuses a file that is gone or empty: it would remove everything, and somebody may be about to write it. */
function refuseLoss(running: Config, fresh: Config): void {
  if (running.file === null) return
  if (fresh.file === null) throw new ConfigError(`the configuration file ${running.file} is gone`)
  if (statSync(fresh.file).size === 0) throw new ConfigError(`the configuration file ${fresh.file} is empty`)
}

function filesOf({ file, server: { tls } }: Config): string[] {
  return [...(file === null ? [] : [file]), ...(tls === null ? [] : [tls.certFile, tls.keyFile])]
}

/** A digest of the certificate and its key; empty when there is none that can be read. */
function certificateOf({ server: { tls } }: Config): string {
  if (tls === null) return ''
  const hash = createHash('sha256')
  try {
    for (const file of [tls.certFile, tls.keyFile]) hash.update(readFileSync(file))
  } catch {
    return ''
  }
  return hash.digest('hex')
}
