/*
 * Measures how long translating a body keeps the event loop of a front busy: inline, and through the worker pool. The size at
 * which the pool becomes cheaper is the right value of `workers.inline_max_bytes`.
 *
 *   npx tsc -p tsconfig.bench.json && npm run build && node .tmp/bench/bench/micro/translate.js
 */
import { performance } from 'node:perf_hooks'
import { translateRequest } from '../../src/dialects/translate.ts'
import type { Pair } from '../../src/dialects/translate.ts'
import { WorkerPool } from '../../src/front/workers/pool.ts'

const PAIR: Pair = { client: 'openai-chat', upstream: 'anthropic-messages' }
const EDITS = { model: 'm', stream: false }
const KIB = 1024
const SIZES = [1, 4, 16, 64, 128, 256, 512, 2_048].map((kib) => kib * KIB)
const MIN_MS = 400

/** A conversation of messages of some hundred bytes each. */
function bodyOf(bytes: number): Buffer {
  const messages = [{ role: 'system', content: 'Answer in one sentence.' }]
  for (let length = 0, turn = 0; length < bytes; length += 420, turn++) {
    const content = 'The quick brown fox jumps over the lazy dog, "again" and\nagain. '.repeat(6)
    messages.push({ role: turn % 2 === 0 ? 'user' : 'assistant', content })
  }
  messages.push({ role: 'user', content: 'Well?' })
  return Buffer.from(JSON.stringify({ model: 'm', messages }))
}

/** Milliseconds that the event loop was busy per call. */
async function busyMs(run: () => unknown): Promise<number> {
  for (let i = 0; i < 20; i++) await run()
  const before = performance.eventLoopUtilization()
  const startMs = performance.now()
  let calls = 0
  while (performance.now() - startMs < MIN_MS) {
    await run()
    // `eventLoopUtilization` counts only between turns of the event loop.
    await new Promise((resolve) => setImmediate(resolve))
    calls++
  }
  return performance.eventLoopUtilization(before).active / calls
}

const pool = new WorkerPool({ threads: 1, maxQueue: 10, bodyLimits: { maxDepth: 100, maxElements: 1_000_000 } })
const rows: Record<string, object> = {}
for (const size of SIZES) {
  const body = bodyOf(size)
  const inline = await busyMs(() => translateRequest(body, PAIR, EDITS))
  const pooled = await busyMs(() => pool.translateRequest(body, PAIR, EDITS))
  rows[`${Math.round(body.length / KIB)} KiB`] = {
    'inline ms': Math.round(inline * 1000) / 1000,
    'pool ms': Math.round(pooled * 1000) / 1000,
  }
}
console.table(rows)
await pool.close()
