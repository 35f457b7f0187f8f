import { readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { benchPeers, isWhole } from './bench.ts'
import type { Report } from './bench.ts'
import { canIsolate, runIsolated } from './isolation.ts'
import { isIsolated } from './peer.ts'
import { plotOf } from './plot.ts'
import { STARTERS } from './start.ts'

const { values } = parseArgs({
  options: {
    /** Runs only scenarios whose name begins with this; may be given several times. */
    only: { type: 'string', multiple: true, default: [''] },
    /** Programs, separated by commas. */
    peers: { type: 'string', default: Object.keys(STARTERS).join(',') },
    rounds: { type: 'string', default: '5' },
    /** Seconds of load for each program, scenario and round. */
    seconds: { type: 'string', default: '4' },
    /** Seconds of load for each program before the first round. */
    'warm-up': { type: 'string', default: '8' },
    streams: { type: 'string', default: '2000' },
    /** The folder of install.sh. */
    dir: { type: 'string', default: join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'sluice-peers') },
    out: { type: 'string', default: 'test-results/peers.json' },
    /** Draws the result in `--out` into this file, and measures nothing. */
    plot: { type: 'string' },
  },
})

function draw(file: string): void {
  const { at, machine, results } = JSON.parse(readFileSync(values.out, 'utf8')) as Report & { readonly at: string }
  const note = `${at.slice(0, 10)}, ${machine.cpus} cores of ${machine.model}; lines from least to most`
  writeFileSync(file, plotOf(results, note))
}

async function measure(): Promise<boolean> {
  const report = await benchPeers({
    only: values.only,
    peers: values.peers.split(',').filter((name) => name !== ''),
    rounds: positive('rounds'),
    seconds: positive('seconds'),
    warmUp: positive('warm-up'),
    streams: positive('streams'),
    dir: values.dir,
    out: values.out,
  })
  return isWhole(report)
}

function positive(option: 'rounds' | 'seconds' | 'warm-up' | 'streams'): number {
  const value = Number(values[option])
  if (value > 0) return value
  throw new Error(`--${option} must be a number above 0`)
}

if (values.plot !== undefined) draw(values.plot)
else if (!isIsolated() && canIsolate()) process.exitCode = await runIsolated()
else {
  if (!isIsolated()) console.log('no network namespace here: peers get the address of a proxy that does not exist')
  process.exitCode = (await measure()) ? 0 : 1
}
