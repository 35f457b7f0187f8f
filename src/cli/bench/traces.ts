import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { UsageError } from '../../shared/config/config-error.ts'

/** One request of a recorded trace. */
export interface TraceRequest {
  /** Milliseconds after the first request. */
  readonly atMs: number
  readonly promptTokens: number
  readonly completionTokens: number
  /** Ids of the prompt's blocks of 512 tokens; prompts that begin alike begin with the same ids. Null: the trace has none. */
  readonly blocks: readonly number[] | null
}

/** Parts of the public traces that come with the program. */
export const SHIPPED = {
  azure: fileURLToPath(new URL('../../../config/traces/azure-conversations-2023.csv', import.meta.url)),
  mooncake: fileURLToPath(new URL('../../../config/traces/mooncake-conversations.jsonl', import.meta.url)),
} as const

const FORMATS = `use a CSV file with the head TIMESTAMP,ContextTokens,GeneratedTokens (Azure LLM inference trace), or lines of JSON
with timestamp, input_length, output_length and hash_ids (Mooncake)`

/** Reads a trace in the format of Azure's or of Mooncake's. Throws UsageError. @param option names the file in errors */
export function readTrace(file: string, option = '--trace'): TraceRequest[] {
  const lines = readLines(file, option)
  const [head = ''] = lines
  const isCsv = head.startsWith('TIMESTAMP,')
  if (!isCsv && !head.startsWith('{')) throw new UsageError(`${option} ${file} is no trace: ${FORMATS}`)
  const parse = isCsv ? fromCsv : fromJson
  const requests = (isCsv ? lines.slice(1) : lines).map((line, index) => {
    const request = parse(line)
    if (request !== null) return request
    throw new UsageError(`${option} ${file}, line ${index + (isCsv ? 2 : 1)} is no request: ${FORMATS}`)
  })
  if (requests.length === 0) throw new UsageError(`${option} ${file} has no requests`)
  requests.sort((a, b) => a.atMs - b.atMs)
  const startMs = requests[0]?.atMs ?? 0
  return requests.map((request) => ({ ...request, atMs: request.atMs - startMs }))
}

function readLines(file: string, option: string): string[] {
  try {
    return readFileSync(file, 'utf8')
      .split(/\r?\n/)
      .filter((line) => line !== '')
  } catch (cause) {
    throw new UsageError(`${option} ${file} cannot be read: ${(cause as Error).message}`)
  }
}

function fromCsv(line: string): TraceRequest | null {
  const [time = '', prompt, completion] = line.split(',')
  // The trace has seven digits of seconds and no zone.
  const atMs = Date.parse(`${time.replace(' ', 'T').slice(0, 23)}Z`)
  return checked(atMs, Number(prompt), Number(completion), null)
}

function fromJson(line: string): TraceRequest | null {
  try {
    const value = JSON.parse(line) as Record<string, unknown>
    const { timestamp, input_length: prompt, output_length: completion, hash_ids: ids } = value
    const blocks = Array.isArray(ids) && ids.every(Number.isInteger) ? (ids as number[]) : null
    return checked(Number(timestamp), Number(prompt), Number(completion), blocks)
  } catch {
    return null
  }
}

function checked(
  atMs: number,
  promptTokens: number,
  completionTokens: number,
  blocks: readonly number[] | null,
): TraceRequest | null {
  const isWhole = [promptTokens, completionTokens].every((count) => Number.isInteger(count) && count >= 0)
  return Number.isFinite(atMs) && isWhole ? { atMs, promptTokens, completionTokens, blocks } : null
}

/** Fewer requests say nothing, however long they take to arrive. */
const LEAST_REQUESTS = 10

/**
 * The requests of the first seconds of a trace that is played `speed` times as fast, with the times of that play; at least the first
 * `LEAST_REQUESTS`.
 */
export function excerpt(trace: readonly TraceRequest[], seconds: number, speed: number): TraceRequest[] {
  const endMs = seconds * 1000
  return trace
    .map((request) => ({ ...request, atMs: request.atMs / speed }))
    .filter(({ atMs }, index) => atMs < endMs || index < LEAST_REQUESTS)
}
