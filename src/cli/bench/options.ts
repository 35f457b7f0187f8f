import { readFileSync } from 'node:fs'
import { UsageError } from '../../shared/config/config-error.ts'
import { SCENARIOS } from './result.ts'
import type { ScenarioName } from './result.ts'
import type { Price } from './spend.ts'

/** The options as commander reads them. */
export interface BenchOptions {
  readonly url?: string
  readonly key?: string
  readonly model?: string
  readonly only?: string
  readonly seconds: string
  readonly rate?: string
  readonly connections: string
  readonly keysFile?: string
  readonly trace?: string
  readonly speed?: string
  readonly pid?: string
  readonly maxCost?: string
  readonly price?: string
  readonly html: string | false
  readonly json?: string | true
  readonly compare?: readonly string[]
}

/** The options after their checks. */
export interface BenchSettings {
  readonly url: string | null
  readonly key: string | null
  readonly model: string | null
  readonly only: readonly ScenarioName[]
  readonly seconds: number
  readonly rate: number | null
  readonly connections: number
  readonly keys: readonly string[]
  readonly trace: string | null
  readonly speed: number | null
  readonly pid: number | null
  /** Dollars. */
  readonly maxCost: number | null
  readonly price: Price | null
}

export const KEY_VARIABLE = 'SLUICE_API_KEY'

const MOST_SECONDS = 3_600
const MOST_RATE = 10_000
const MOST_CONNECTIONS = 512
const MILLION = 1_000_000

/** Checks all options. Throws UsageError that names the option and what it takes. */
export function settingsOf(options: BenchOptions, env: Readonly<Record<string, string | undefined>>): BenchSettings {
  const url = options.url === undefined ? null : urlOf(options.url)
  const key = options.key ?? nonEmpty(env[KEY_VARIABLE])
  const only = scenariosOf(options.only)
  if (url === null) {
    for (const name of ['key', 'model', 'keysFile', 'pid', 'maxCost', 'price'] as const) {
      if (options[name] === undefined) continue
      throw new UsageError(`--${dashed(name)} is for a deployment: name it by --url, or leave --${dashed(name)} out`)
    }
  } else {
    if (key === null)
      throw new UsageError(`--url needs the API key of the requests: give --key, or set ${KEY_VARIABLE}`)
    if (options.model === undefined)
      throw new UsageError('--url needs a model: give --model; GET /v1/models lists those of the key')
  }
  return {
    url,
    key,
    model: options.model ?? null,
    only,
    seconds: numberOf(options.seconds, '--seconds', 0.5, MOST_SECONDS),
    rate: options.rate === undefined ? null : numberOf(options.rate, '--rate', 0.1, MOST_RATE),
    connections: numberOf(options.connections, '--connections', 1, MOST_CONNECTIONS, true),
    keys: options.keysFile === undefined ? [] : keysIn(options.keysFile),
    trace: options.trace ?? null,
    speed: options.speed === undefined ? null : numberOf(options.speed, '--speed', 0.01, 1_000),
    pid: options.pid === undefined ? null : pidOf(options.pid),
    maxCost: options.maxCost === undefined ? null : numberOf(options.maxCost, '--max-cost', 0, MILLION),
    price: options.price === undefined ? null : priceOf(options.price),
  }
}

/** Removes `/v1` and slashes at the end. */
function urlOf(text: string): string {
  const isHttp = URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
  if (!isHttp) throw new UsageError(`--url ${text} is not a URL that begins with http:// or https://`)
  return text.replace(/\/+$/, '').replace(/\/v1$/, '')
}

function scenariosOf(text: string | undefined): readonly ScenarioName[] {
  if (text === undefined) return SCENARIOS
  const names = text.split(',').map((name) => name.trim())
  for (const name of names) {
    if ((SCENARIOS as readonly string[]).includes(name)) continue
    throw new UsageError(
      `--only has no scenario ${JSON.stringify(name)}: it takes ${SCENARIOS.join(', ')}, separated by commas`,
    )
  }
  return SCENARIOS.filter((name) => names.includes(name))
}

function numberOf(text: string, option: string, least: number, most: number, isWhole = false): number {
  const value = Number(text)
  const isNumber = text.trim() !== '' && Number.isFinite(value) && (!isWhole || Number.isInteger(value))
  if (isNumber && value >= least && value <= most) return value
  throw new UsageError(`${option} ${text} is not a ${isWhole ? 'whole ' : ''}number from ${least} to ${most}`)
}

function pidOf(text: string): number {
  const pid = numberOf(text, '--pid', 1, 2 ** 22, true)
  try {
    readFileSync(`/proc/${pid}/stat`)
    return pid
  } catch {
    throw new UsageError(
      `--pid ${pid} is no process of this machine: give the process id of the supervisor (sluice start)`,
    )
  }
}

function priceOf(text: string): Price {
  const parts = text.split(',').map((part) => Number(part.trim() === '' ? NaN : part))
  const [prompt = NaN, completion = NaN] = parts
  if (parts.length !== 2 || !(prompt >= 0 && completion >= 0)) {
    throw new UsageError(
      `--price ${text} is not two numbers: dollars per million tokens of prompts and of answers, like 2.50,10`,
    )
  }
  return { prompt: prompt / MILLION, completion: completion / MILLION }
}

function keysIn(file: string): string[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new UsageError(`--keys-file ${file} cannot be read: ${(cause as Error).message}`)
  }
  const keys = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  if (keys.length > 1) return keys
  throw new UsageError(`--keys-file ${file} has ${keys.length} keys: it needs two or more, one a line`)
}

function nonEmpty(text: string | undefined): string | null {
  return text === undefined || text === '' ? null : text
}

function dashed(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}
