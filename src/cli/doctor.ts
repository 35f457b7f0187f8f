import { setTimeout as elapsed } from 'node:timers/promises'
import type { Command } from 'commander'
import { credentialsWithoutAddress } from '../shared/config/environment-upstreams.ts'
import type { Config, UpstreamConfig } from '../shared/config/shape.ts'
import { ConfigError, UsageError } from '../shared/config/config-error.ts'
import { EXIT } from '../shared/core/exit-codes.ts'
import { lockHolder } from '../shared/runtime/data-directory.ts'
import { command, configOf } from './command.ts'
import type { CommandContext, CommonOptions } from './command.ts'
import { checkClock } from './doctor/clock.ts'
import type { ClockReading } from './doctor/clock.ts'
import { failed, ok, reasonOf, skipped, warning } from './doctor/finding.ts'
import type { Finding } from './doctor/finding.ts'
import { checkGateway } from './doctor/gateway.ts'
import {
  checkCertificate,
  checkDataDirectory,
  checkDisk,
  checkNode,
  checkPorts,
  checkSecrets,
} from './doctor/machine.ts'
import { checkDatabase, checkRedis } from './doctor/stores.ts'
import type { Output } from './output.ts'
import { Progress } from './progress.ts'

/** A check that takes longer counts as failed. */
const CHECK_TIMEOUT_MS = 120_000

interface Report {
  readonly findings: readonly Finding[]
  readonly clock?: ClockReading | null
  /** Upstreams that are still to be checked. */
  readonly upstreams?: readonly UpstreamConfig[]
}

export function addDoctor(program: Command, { output, ended }: CommandContext): void {
  command(
    program,
    'doctor',
    'check configuration, machine, stores and upstreams, and print how to correct each fault; exit code 1 when a check fails',
  )
    .option('--spend', 'also make one small real call with each upstream key; providers charge for it')
    .action(async (options: CommonOptions & { readonly spend?: true }) => {
      const findings = [checkNode(), ...(await examine(options, options.spend === true, output))]
      for (const finding of findings) tell(output, finding)
      const bad = findings.filter(({ status }) => status === 'failed').length
      output.line(bad === 0 ? 'No check failed.' : `${bad} of ${findings.length} checks failed.`)
      output.value({ healthy: bad === 0, findings })
      ended(bad === 0 ? EXIT.ok : EXIT.failure)
    })
}

async function examine(options: CommonOptions, spend: boolean, output: Output): Promise<Finding[]> {
  let config: Config
  try {
    config = configOf(options)
  } catch (cause) {
    if (cause instanceof UsageError) throw cause
    const fix = 'correct the line or variable that it names; config/sluice.schema.json has every setting'
    const problems = cause instanceof ConfigError ? cause.problems : [cause]
    return problems.map((problem) => failed('configuration', reasonOf(problem), fix))
  }
  // This module loads every dialect. A static import would make all other commands wait for that.
  const [{ upstreamChecks }, { readStoredUpstreams }] = await Promise.all([
    import('./doctor/upstreams.ts'),
    import('./doctor/stored-upstreams.ts'),
  ])
  const findings = [
    ok('configuration', config.file ?? 'no file: defaults and environment variables'),
    ...credentialsWithoutAddress(process.env, config.upstreams).map(({ providerId, variable, addressVariable }) =>
      warning(
        `upstream ${providerId}`,
        `${variable} is set and not used: the provider has another address for each customer`,
        `set ${addressVariable} too, or write an upstream with its base_url into the configuration file`,
      ),
    ),
  ]
  const clocks: ClockReading[] = []
  const holder = await lockHolder(config.dataDir)
  // Before a check of the database takes the lock, which also corrects the mode of the directory.
  const directory = await within('data directory', examineDirectory(config, holder))
  const checks: Array<readonly [what: string, run: () => Promise<Report>]> = [
    ['data directory', () => Promise.resolve(directory)],
    ['secrets', async () => ({ findings: [await checkSecrets(config)] })],
    ['disk', async () => ({ findings: [await checkDisk(config)] })],
    ['ports', async () => ({ findings: await checkPorts(config, holder) })],
    ['gateway', async () => ({ findings: [await checkGateway(config, holder)] })],
    ['certificate', async () => ({ findings: [await checkCertificate(config)] })],
    ['database', () => checkDatabase(config)],
    ['redis', async () => ({ findings: [await checkRedis(config)] })],
    ...(config.upstreams.length === 0
      ? ([['upstreams', async () => ({ findings: [NO_UPSTREAMS] })]] as const)
      : upstreamChecks(config, config.upstreams, { spend }).map((run) => ['upstreams', run] as const)),
  ]
  const stored = await within('stored upstreams', readStoredUpstreams(config))
  checks.push(...upstreamChecks(config, stored.upstreams ?? [], { spend }).map((run) => ['upstreams', run] as const))
  const progress = new Progress('checking', checks.length, output)
  try {
    for (const [what, run] of checks) {
      const report = await within(what, run())
      findings.push(...report.findings)
      if (report.clock) clocks.push(report.clock)
      progress.step()
    }
  } finally {
    progress.end()
  }
  return [...findings, ...stored.findings, checkClock(clocks)]
}

async function examineDirectory(config: Config, holder: number | null): Promise<Report> {
  return { findings: [await checkDataDirectory(config, holder)] }
}

async function within(what: string, work: Promise<Report>): Promise<Report> {
  const stop = new AbortController()
  const late = elapsed(CHECK_TIMEOUT_MS, null, { signal: stop.signal }).catch(() => null)
  const report = work.catch((cause: unknown) => ({
    findings: [failed(what, reasonOf(cause), 'correct this error, then run sluice doctor again')],
  }))
  try {
    const first = await Promise.race([report, late])
    return first ?? { findings: [failed(what, `no answer within ${CHECK_TIMEOUT_MS / 1000} s`, HANG_FIX)] }
  } finally {
    stop.abort()
  }
}

const NO_UPSTREAMS = skipped('upstreams', 'the configuration has none: the simulator answers')
const HANG_FIX = 'see whether its disk, server or network hangs, then run sluice doctor again'

const MARKS = { ok: 'ok      ', warning: 'WARNING ', failed: 'FAILED  ', skipped: 'skipped ' } as const

function tell(output: Output, { check, status, says, fix }: Finding): void {
  output.line(`${MARKS[status]} ${check}: ${says}`)
  if (fix !== null) output.line(`          → ${fix}`)
}
