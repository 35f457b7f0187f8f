import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ownVersion } from '../../shared/config/own-version.ts'
import type { Output } from '../output.ts'
import { loadBuffered } from './buffered-load.ts'
import { guardCost, needOf, priceFor } from './cost-guard.ts'
import { openDeployment } from './deployment.ts'
import { dosesFor } from './doses.ts'
import { startLaboratory } from './laboratory.ts'
import { commitOf, machine } from './machine.ts'
import { MemorySampler } from './memory-sampler.ts'
import type { BenchSettings } from './options.ts'
import { besideOthers } from './process-use.ts'
import type { BenchResult, ScenarioResult } from './result.ts'
import { NO_FIGURES } from './scenario.ts'
import type { Bench, Scenario } from './scenario.ts'
import { bufferedRequest } from './scenarios/buffered.ts'
import { TABLE } from './scenarios/table.ts'
import { Spend } from './spend.ts'
import { shownNumber, shownTail } from './shown.ts'
import { readTrace, SHIPPED } from './traces.ts'

const WARM_UP_CONNECTIONS = 32
const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** Runs the chosen scenarios one after the other. Rejects when the target cannot be loaded, and with the reason of an abort. */
export async function runBench(settings: BenchSettings, output: Output, signal: AbortSignal): Promise<BenchResult> {
  const scenarios = TABLE.filter(({ name }) => settings.only.includes(name))
  const trace = readTrace(settings.trace ?? SHIPPED.azure)
  const kind = settings.url === null ? 'laboratory' : 'deployment'
  const doses = dosesFor(kind, settings)
  const about = machine()
  if (kind === 'laboratory') output.note('starting a gateway, a simulator and replicas on this machine')
  const target = kind === 'laboratory' ? await startLaboratory() : await openDeployment(settings)
  try {
    const price = priceFor(target, settings)
    const spend = new Spend(price)
    const bench: Bench = { target, doses, trace, spend, signal }
    const runnable = scenarios.filter(({ lacks }) => lacks(target) === null)
    if (!target.isSimulated) await guardCost(needOf(runnable, bench), price, settings, output)
    if (doses.warmUpSeconds > 0) {
      output.note('warming up')
      const dose = { seconds: doses.warmUpSeconds }
      await loadBuffered({ ...bufferedRequest(bench), connections: WARM_UP_CONNECTIONS, dose, signal })
    }
    const startMs = performance.now()
    const at = new Date().toISOString()
    const memory = new MemorySampler(target.pid, startMs)
    const { result: results, elsewhere } = await besideOthers(async () => {
      const done: ScenarioResult[] = []
      for (const [index, scenario] of scenarios.entries()) {
        const place = `${index + 1} of ${scenarios.length}, ${scenario.name}`
        output.note(`${place} …`)
        const result = await runOne(scenario, bench, startMs, settings.maxCost)
        output.note(`${place}: ${inShort(result)}`)
        done.push(result)
      }
      return done
    }).finally(() => {
      memory.stop()
    })
    return {
      format: 1,
      at,
      seconds: (performance.now() - startMs) / 1000,
      version: ownVersion(),
      // An installed package may stand in a checkout of another program.
      commit: existsSync(join(ROOT, '.git')) ? commitOf(ROOT) : 'unknown',
      machine: about,
      target: {
        kind,
        url: target.url,
        model: target.model,
        paid: !target.isSimulated,
        spent: spend.dollars,
      },
      options: { ...doses, only: settings.only, trace: settings.trace ?? 'azure-conversations-2023' },
      scenarios: results,
      memory: memory.samples,
      elsewhere,
    }
  } finally {
    await target.stop()
  }
}

async function runOne(
  scenario: Scenario,
  bench: Bench,
  startMs: number,
  maxCost: number | null,
): Promise<ScenarioResult> {
  const { name } = scenario
  const beganMs = performance.now()
  const from = (beganMs - startMs) / 1000
  const without = (status: 'skipped' | 'failed', why: string): ScenarioResult => ({
    ...NO_FIGURES,
    name,
    status,
    problems: [why],
    from,
    seconds: (performance.now() - beganMs) / 1000,
  })
  const lacks = scenario.lacks(bench.target)
  if (lacks !== null) return without('skipped', lacks)
  // The estimate trusts the maximum of each request; what providers report counts.
  if (maxCost !== null && (bench.spend.dollars ?? 0) > maxCost)
    return without('failed', 'not run: --max-cost is used up')
  try {
    const outcome = await scenario.run(bench)
    return {
      ...outcome,
      name,
      status: outcome.failures === 0 ? 'passed' : 'failed',
      from,
      seconds: (performance.now() - beganMs) / 1000,
    }
  } catch (cause) {
    bench.signal.throwIfAborted()
    // The other scenarios have results, which may have cost money.
    return without('failed', `broke off: ${reasonOf(cause)}`)
  }
}

/** `fetch` says no more than that it failed. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  return cause.cause instanceof Error ? `${cause.message}: ${cause.cause.message}` : cause.message
}

function inShort({ status, problems, requests, failures, total, seconds }: ScenarioResult): string {
  if (status === 'skipped') return `skipped, ${problems[0] ?? ''}`
  const counted = `${shownNumber(requests)} requests in ${shownNumber(seconds)} s`
  return status === 'passed'
    ? `${counted}, p99 ${shownTail(total) || '–'}`
    : `FAILED, ${failures} of ${counted}: ${problems[0] ?? ''}`
}
