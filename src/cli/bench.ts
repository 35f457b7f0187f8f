import { accessSync, constants, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Command } from 'commander'
import { UsageError } from '../shared/config/config-error.ts'
import { EXIT } from '../shared/core/exit-codes.ts'
import { KEY_VARIABLE, settingsOf } from './bench/options.ts'
import type { BenchOptions } from './bench/options.ts'
import { SCENARIOS } from './bench/result.ts'
import type { BenchResult, Status } from './bench/result.ts'
import type { CommandContext } from './command.ts'
import { Output } from './output.ts'

const EXAMPLES = `
Scenarios: ${SCENARIOS.join(', ')}.
Without --url, a gateway, a simulator and replicas with prompt caches are started on this machine: about a minute, no cost.

  sluice bench
  sluice bench --only streamed,accounting --seconds 10 --json result.json
  sluice bench --url https://ai.example.com --model gpt-4o-mini --max-cost 0.50
  sluice bench --compare before.json after.json

With a token of SLUICE_TOKEN or sluice login, the accounting also compares the rows of the request log.`

export function addBench(program: Command, { ended }: CommandContext): void {
  program
    .command('bench')
    .description(
      'measure a gateway: latency, throughput, lost events, accounting; exit code 1 when a scenario fails, or one of --only cannot run',
    )
    .option('--url <url>', 'the gateway (default: a laboratory on this machine)')
    .option('--key <key>', `the API key of the requests (default: ${KEY_VARIABLE})`)
    .option('--model <model>', 'the model of the requests')
    .option('--only <names>', 'scenarios, separated by commas (default: all)')
    .option('--seconds <n>', 'seconds of load of a scenario', '4')
    .option('--rate <n>', 'requests per second (default: 5 to a deployment; in the laboratory 40 streams, 200 others)')
    .option('--connections <n>', 'most connections of the scenario buffered', '64')
    .option('--keys-file <file>', 'API keys for the scenario keys, one a line')
    .option(
      '--trace <file>',
      'a trace to replay, in the format of Azure (CSV) or Mooncake (JSON lines); parts of both are built in',
    )
    .option('--speed <n>', 'replay the trace n times as fast (default: 1; in the laboratory 10)')
    .option('--pid <pid>', 'process id of the gateway, where it runs on this machine: its CPU and memory are measured')
    .option('--max-cost <dollars>', 'agree to this cost at a real provider; without it the command asks on a terminal')
    .option(
      '--price <prompt,answer>',
      'dollars per million tokens (default: those that this version knows of the model)',
    )
    .option('--html <file>', 'write the report with plots here', 'sluice-bench.html')
    .option('--no-html', 'write no report')
    .option('--json [file]', 'write the result as JSON to the file, or print it')
    .option('--compare <files...>', 'compare two results of --json, base first; nothing is measured')
    .addHelpText('after', EXAMPLES)
    .allowExcessArguments(false)
    .action(async (options: BenchOptions, own: Command) => {
      const output = new Output(options.json === true)
      if (options.compare !== undefined) {
        // The default file is that of a measurement.
        const html = own.getOptionValueSource('html') === 'cli' ? options.html : false
        ended((await compare({ ...options, html }, output)) ? EXIT.ok : EXIT.failure)
        return
      }
      const settings = settingsOf(options, process.env)
      // A measurement of a minute should not end with a file that cannot be written.
      if (options.html !== false) checkWritable('--html', options.html)
      if (typeof options.json === 'string') checkWritable('--json', options.json)
      const { runBench } = await import('./bench/run.ts')
      const { printResult } = await import('./bench/text-report.ts')
      const result = await untilInterrupted((signal) => runBench(settings, output, signal))
      printResult(result, output)
      await writeFiles(result, options, output)
      ended(isGood(result, options.only !== undefined) ? EXIT.ok : EXIT.failure)
    })
}

/** @param areNamed the scenarios were chosen: one of them that cannot run is not what was asked for */
function isGood({ scenarios }: BenchResult, areNamed: boolean): boolean {
  const has = (wanted: Status): boolean => scenarios.some(({ status }) => status === wanted)
  return !has('failed') && has('passed') && !(areNamed && has('skipped'))
}

async function compare({ compare: files = [], html, json }: BenchOptions, output: Output): Promise<boolean> {
  const { compareFiles, printComparison, valueOf } = await import('./bench/compare.ts')
  const comparison = compareFiles(files)
  printComparison(comparison, output)
  if (typeof json === 'string') write('--json', json, inJson(valueOf(comparison)), output)
  if (html !== false) {
    const { htmlComparison } = await import('./bench/html/comparison.ts')
    write('--html', html, htmlComparison(comparison), output)
  }
  return comparison.newlyFailed.length === 0 && comparison.notRun.length === 0
}

async function writeFiles(result: BenchResult, { html, json }: BenchOptions, output: Output): Promise<void> {
  output.value(result)
  if (html !== false) {
    const { htmlReport } = await import('./bench/html/report.ts')
    write('--html', html, htmlReport(result), output)
  }
  if (typeof json === 'string') write('--json', json, inJson(result), output)
}

function inJson(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

function write(option: string, file: string, content: string, output: Output): void {
  try {
    writeFileSync(file, content)
  } catch (cause) {
    throw new UsageError(`${option} ${file} cannot be written: ${(cause as Error).message}`)
  }
  output.line(`written: ${file}`)
}

function checkWritable(option: string, file: string): void {
  try {
    accessSync(dirname(file), constants.W_OK)
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory() === true) throw new Error('it is a folder')
  } catch (cause) {
    throw new UsageError(`${option} ${file} cannot be written: ${(cause as Error).message}`)
  }
}

/** Does `work`; the first SIGINT or SIGTERM aborts it, so that the laboratory ends before the command does. */
async function untilInterrupted<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const controller = new AbortController()
  const interrupt = (): void => {
    controller.abort(new Error('interrupted'))
  }
  process.on('SIGINT', interrupt)
  process.on('SIGTERM', interrupt)
  try {
    return await work(controller.signal)
  } finally {
    process.off('SIGINT', interrupt)
    process.off('SIGTERM', interrupt)
  }
}
