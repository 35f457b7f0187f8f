import { closeSync, openSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as elapsed } from 'node:timers/promises'
import { readConfig } from '../shared/config/config.ts'
import { ownVersion } from '../shared/config/own-version.ts'
import { ConfigError } from '../shared/config/config-error.ts'
import { credentialsWithoutAddress } from '../shared/config/environment-upstreams.ts'
import { EXIT } from '../shared/core/exit-codes.ts'
import { readFailure } from '../shared/config/read-failure.ts'
import { loadSecrets } from '../shared/config/secrets.ts'
import type { Config } from '../shared/config/shape.ts'
import { lockDataDirectory } from '../shared/runtime/data-directory.ts'
import { exampleModel } from './example-model.ts'
import { makeLinkDirectory } from './link-directory.ts'
import { claimPort } from './listen-port.ts'
import { fileState } from './config-watch.ts'
import { Reload } from './reload.ts'
import { HandOver, freeIndices, predecessors } from './hand-over.ts'
import { forgetState, leavingFronts, sayLeaving, sayState } from './succession.ts'
import type { EndReason, FirstRun } from './messages.ts'
import { SupervisedChild } from './supervisor.ts'
import type { ChildKind, ChildPlan, Ready } from './supervisor.ts'
import { createLogger } from '../shared/telemetry/logger.ts'
import type { Logger } from '../shared/telemetry/logger.ts'

/** How long children may take to end after the deadline of the drain. */
const END_GRACE_MS = 5_000
/** Header limit of uWebSockets.js, which reads it from its environment. Coding agents send more than the default of 4 KiB. */
const MAX_HEADER_BYTES = '16384'

/**
 * Runs the whole gateway: configuration, children, signals, exit code. Resolves when the gateway is ready and has printed this;
 * rejects with the reason why it cannot start. After that, SIGTERM or SIGINT ends the process.
 */
export async function runSupervisor(argv: readonly string[]): Promise<void> {
  const files = new Map<string, string>()
  const read = (onFile: (file: string) => void): Config => readConfig({ env: process.env, argv, onFile })
  const config = read((file) => files.set(file, fileState(file)))
  const hasSecrets = loadSecrets(config.dataDir, process.env) !== null
  const logger = openLog(config)
  for (const { variable, addressVariable } of credentialsWithoutAddress(process.env, config.upstreams)) {
    logger.warn(`${variable} is set and not used: its provider also needs ${addressVariable}`)
  }
  process.on('SIGHUP', endWithTerminal)
  const version = ownVersion()
  const { dataDir } = config
  const patienceMs = config.server.drainAnnounceMs + config.server.drainTimeoutMs + END_GRACE_MS
  await predecessors(dataDir, version, patienceMs)
  const lock = await lockDataDirectory(dataDir)
  sayState(dataDir, 'starting')
  const leaving = await predecessors(dataDir, version, patienceMs)
  const releaseDirectory = async (): Promise<void> => {
    forgetState(dataDir)
    await lock.release()
  }
  const ownPorts = leaving.map((one) => one.port)
  const held = await claimPort(config.server.host, config.server.port, ownPorts).catch(async (cause: unknown) => {
    await releaseDirectory()
    throw cause
  })
  const { port } = held
  const displayUrl = urlOf(config, port)
  const indices = freeIndices(config.server.fronts, leaving)
  // The fronts of a gateway that hands over will look for this gateway's control process at their own socket path.
  const socketPath = leaving[0]?.socketPath ?? socketPathOf(config)
  const children: SupervisedChild[] = []
  const ofKind = (kind: ChildKind): readonly SupervisedChild[] => children.filter((child) => child.kind === kind)
  const timeoutMs = config.server.drainTimeoutMs + END_GRACE_MS
  const reload = new Reload({
    first: { config, files },
    read,
    fronts: () => ofKind('front'),
    control: () => ofKind('control')[0],
    logger: logger.child('configuration'),
  })
  let isServing = false
  let stopping: Promise<void> | null = null

  const stopAll = async (kind: ChildKind, reason: EndReason): Promise<void> => {
    await Promise.all(ofKind(kind).map((child) => child.stop(timeoutMs, reason)))
  }
  const sayFrontsLeaving = (fronts: readonly number[]): (() => void) =>
    sayLeaving(dataDir, { version, port, socketPath, indices: fronts })
  /** Releases the data directory for another gateway. Returns how to withdraw the offer; null when the directory cannot be written. */
  const offerDirectory = async (): Promise<(() => void) | null> => {
    try {
      const takeBack = sayFrontsLeaving(indices)
      await releaseDirectory()
      return takeBack
    } catch (cause) {
      logger.error({ err: cause }, 'no other gateway can take over: the data directory cannot be written')
      return null
    }
  }
  /** The fronts serve until another gateway on this data directory serves, or until none has started in time. */
  const leave = async (): Promise<EndReason> => {
    for (const front of ofKind('front')) front.announceEnd()
    const takeBackOffer = await offerDirectory()
    if (takeBackOffer === null) {
      await elapsed(config.server.drainAnnounceMs)
      await stopAll('front', 'stop')
      return 'stop'
    }
    const handOver = new HandOver({
      dataDir,
      announceMs: config.server.drainAnnounceMs,
      patienceMs: config.server.drainTimeoutMs,
      onControlNeeded: () => void stopAll('control', 'hand-over'),
    })
    const reason = await handOver.wait()
    const left = new Set(indices)
    const stopFront = async (front: SupervisedChild): Promise<void> => {
      await front.stop(timeoutMs, reason)
      left.delete(front.index)
      // Another gateway counts the remaining fronts in its limits.
      try {
        sayFrontsLeaving([...left])
      } catch (cause) {
        logger.warn(
          { err: cause },
          'the data directory cannot be written: the next gateway still counts a front that ended',
        )
      }
    }
    await Promise.all(ofKind('front').map(stopFront))
    handOver.stop()
    takeBackOffer()
    return handOver.isTaken ? 'hand-over' : 'stop'
  }

  const stop = (exitCode: number): Promise<void> => {
    stopping ??= (async () => {
      process.exitCode = exitCode
      reload.stop()
      await held.release()
      // The fronts end first: the control process settles their last records, and the simulator answers their last calls.
      const reason = isServing ? await leave() : 'stop'
      for (const kind of ['front', 'control', 'simulator'] as const) await stopAll(kind, reason)
      if (!isServing) await releaseDirectory()
      logger.flush()
      process.removeAllListeners('SIGTERM')
      process.removeAllListeners('SIGINT')
      process.removeAllListeners('SIGHUP')
    })()
    return stopping
  }
  const launch = (plan: ChildPlan): Promise<Ready> => {
    const child = new SupervisedChild(plan, logger, (message) => {
      // Every front may report the same failure; only the first report is printed.
      if (stopping === null) process.stderr.write(`sluice: ${message}\n`)
      void stop(1)
    })
    children.push(child)
    return child.start()
  }
  process.on('SIGTERM', () => void stop(0))
  process.on('SIGINT', () => void stop(0))
  process.off('SIGHUP', endWithTerminal)
  process.on('SIGHUP', () => void (isTerminalGone() ? stop(0) : reload.run()))

  const env = {
    UWS_HTTP_MAX_HEADERS_SIZE: MAX_HEADER_BYTES,
    UV_THREADPOOL_SIZE: process.env['UV_THREADPOOL_SIZE'] ?? '16',
  }
  let onSecrets = (): void => undefined
  // The control process makes the secrets once it has checked that no key in the database was made with other secrets.
  const secretsMade = hasSecrets ? Promise.resolve() : new Promise<void>((resolve) => (onSecrets = resolve))
  let onSole = (): void => undefined
  // Earlier, the fronts would find the control process of the gateway that hands over, which has another configuration.
  const isSole = leaving.length === 0 ? Promise.resolve() : new Promise<void>((resolve) => (onSole = resolve))
  // All children load their modules at the same time. Each gets its setup as soon as the setup is known.
  let simulatorPort: number | null = null
  const simulator = config.simulator.enabled
    ? launch({
        kind: 'simulator',
        index: 0,
        setup: null,
        env: () => ({ ...env, SIMULATOR_PORT: String(simulatorPort ?? 0) }),
      }).then((ready) => (simulatorPort = ready.port))
    : null
  const fronts = indices.map((index) =>
    launch({
      kind: 'front',
      index,
      setup: async () => {
        await Promise.all([secretsMade, isSole])
        return { config: reload.config, socketPath, index, port }
      },
      env: () => env,
    }),
  )
  const control = launch({
    kind: 'control',
    index: 0,
    setup: async () => {
      await simulator
      return { config: reload.config, socketPath, simulatorPort, displayUrl, handedOverFronts: leavingFronts(dataDir) }
    },
    env: () => env,
    onNews: (news) => {
      if (news === 'sole') onSole()
      else if (stopping === null && !isServing) sayState(dataDir, 'waiting')
    },
  })
  void control.then(onSecrets)
  await Promise.race(fronts)
  await held.release()
  const [{ firstRun }, front] = await Promise.all([control, ...fronts])
  if (stopping !== null) return
  isServing = true
  sayState(dataDir, 'serving')
  const ready = `Sluice is ready at ${displayUrl} (Node ${process.versions.node}, ${front?.httpServer ?? 'no front'})`
  process.stdout.write(`${readyText(ready, displayUrl, firstRun, config)}\n`)
}

/** Until children run: the files are read again later, if they have changed. */
function endWithTerminal(): void {
  if (isTerminalGone()) process.exit(EXIT.failure)
}

/** Whether this gateway was started in a terminal that has closed, which sends SIGHUP too. */
function isTerminalGone(): boolean {
  if (![process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY)) return false
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return false
  } catch {
    return true
  }
}

function openLog({ log }: Config): Logger {
  try {
    return createLogger({ level: log.level, file: log.file, name: 'supervisor' })
  } catch (cause) {
    throw new ConfigError(`log.file: ${log.file ?? 'standard output'} cannot be written (${readFailure(cause)})`)
  }
}

/**
 * The path contains the process id: the control process of a killed supervisor may still listen for a moment, and the fronts of this
 * supervisor must not connect to it.
 */
function socketPathOf({ dataDir }: Config): string {
  return join(makeLinkDirectory(dataDir, tmpdir()), `${process.pid}.sock`)
}

function urlOf(config: Config, port: number): string {
  if (config.server.baseUrl !== null) return config.server.baseUrl
  const { host, tls } = config.server
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  return `${tls === null ? 'http' : 'https'}://${name}:${port}`
}

function readyText(ready: string, url: string, firstRun: FirstRun | null, config: Config): string {
  if (firstRun === null) return ready
  const model = config.simulator.enabled ? 'sim-gpt' : (exampleModel(config) ?? 'MODEL')
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Say hello' }] })
  return `${ready}

First run: these are shown once, and kept in ${join(config.dataDir, 'first-run.json')}
  API key   ${firstRun.api_key}
  Admin     ${firstRun.admin.phone}  ${firstRun.admin.password}

Try it:
  curl -N ${url}/v1/chat/completions -H 'Authorization: Bearer ${firstRun.api_key}' \\
    -H 'Content-Type: application/json' -d '${body}'
`
}
