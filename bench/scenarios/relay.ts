import autocannon from 'autocannon'
import { cpuUsOfTree } from '../support/process-cpu.ts'
import type { Program } from '../support/programs.ts'

export interface Measured {
  readonly target: string
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Of the target's processes, per request. */
  readonly cpuUsPerRequest: number
  readonly errors: number
}

export interface RelayOptions {
  readonly stream: boolean
  readonly tokens: number
  readonly connections: number
  readonly seconds: number
}

const PROMPT = 'The quick brown fox jumps over the lazy dog. '.repeat(10)

/** Loads one program with chat requests, after a warm-up, and tells what it cost. */
export async function measureRelay(target: string, program: Program, options: RelayOptions): Promise<Measured> {
  const behaviour = JSON.stringify({ tokens: options.tokens })
  const body = JSON.stringify({
    model: 'sim-gpt',
    stream: options.stream,
    messages: [{ role: 'user', content: `${PROMPT}[[sim ${behaviour}]]` }],
  })
  const run = (seconds: number): Promise<autocannon.Result> =>
    autocannon({
      url: `${program.baseUrl}/chat/completions`,
      method: 'POST',
      headers: { 'content-type': 'application/json', ...program.headers },
      body,
      connections: options.connections,
      duration: seconds,
    })
  await run(2)
  const before = cpuUsOfTree(program.pid)
  const result = await run(options.seconds)
  const cpuUs = cpuUsOfTree(program.pid) - before
  const answered = result['2xx']
  return {
    target,
    requestsPerSecond: Math.round(answered / options.seconds),
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    cpuUsPerRequest: Math.round((cpuUs / Math.max(1, answered)) * 10) / 10,
    errors: result.errors + result.non2xx,
  }
}
