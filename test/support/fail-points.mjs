/*
 * Ends a process of a gateway with SIGKILL at an exact point of its work. It is loaded into every process (`NODE_OPTIONS=--import …`);
 * the program has no code for it. On SIGUSR2 a process reads its order `{ point, skip, share, shiftDays }` from the file that
 * SLUICE_FAIL_POINTS and its process id name. It passes the point `skip` times and ends at the next; of a torn frame it writes `share`.
 * With `shiftDays`, a front dates its later records so many days ahead. The time of the end is written to a file beside the orders.
 */
import fs, { readFileSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { isMainThread, Worker } from 'node:worker_threads'

const FRAME_HEADER_BYTES = 8
const DAY_MS = 86_400_000
/** The kind of a record by its byte after the three bytes of the array. */
const KINDS = { 1: 'begin', 2: 'end' }

const file = process.env.SLUICE_FAIL_POINTS
const kind = process.env.SLUICE_PROCESS ?? ''
/** The folder of the modules of `src` that tests have built. */
const modules = process.env.SLUICE_TEST_MODULES
let order = null
let shift = null

/** Whether the process must end at this point. */
function isDue(point) {
  if (order?.point !== point) return false
  order.skip -= 1
  return order.skip < 0
}

function die() {
  writeFileSync(`${file}.died`, String(Date.now()))
  process.kill(process.pid, 'SIGKILL')
}

function dieAt(point) {
  if (isDue(point)) die()
}

async function watchFront() {
  const { FrameWriter, readFrames } = await import(`${modules}/journal/frames.js`)
  const { decodeRecord } = await import(`${modules}/journal/record.js`)
  const { openSync, writeSync, closeSync } = fs
  /** State of each open segment, by descriptor: `created` or `begun`. */
  const segments = new Map()

  const framesOf = (bytes) =>
    readFrames(bytes, 0).frames.map(({ start, end }) => ({
      start,
      end,
      kind: KINDS[bytes[start + FRAME_HEADER_BYTES + 3]],
    }))

  const shifted = (bytes) => {
    const writer = new FrameWriter()
    for (const { start, end } of framesOf(bytes)) {
      const record = decodeRecord(bytes, start + FRAME_HEADER_BYTES, end)
      writer.append({ ...record, atMs: record.atMs + shift.days * DAY_MS })
    }
    return writer.take()
  }

  fs.openSync = (path, ...rest) => {
    const descriptor = openSync(path, ...rest)
    if (String(path).endsWith('.seg')) {
      segments.set(descriptor, 'created')
      dieAt('segment created')
    } else segments.delete(descriptor)
    return descriptor
  }
  fs.closeSync = (descriptor) => {
    segments.delete(descriptor)
    closeSync(descriptor)
  }
  fs.writeSync = (descriptor, ...rest) => {
    const state = segments.get(descriptor)
    if (state === undefined) return writeSync(descriptor, ...rest)
    if (state === 'created') {
      const written = writeSync(descriptor, ...rest)
      segments.set(descriptor, 'begun')
      dieAt('segment begun')
      return written
    }
    const [bytes, offset, length] = rest
    const part = bytes.subarray(offset, offset + length)
    const whole = shift === null ? part : shifted(part)
    const kinds = new Set()
    for (const { start, end, kind: of } of framesOf(whole)) {
      kinds.add(of)
      if (!isDue(`${of} torn`)) continue
      writeSync(descriptor, whole, 0, start + 1 + Math.floor((end - start - 1) * order.share))
      die()
    }
    for (const of of kinds) dieAt(`${of} unwritten`)
    for (let done = 0; done < whole.length;) done += writeSync(descriptor, whole, done)
    for (const of of kinds) dieAt(`${of} written`)
    return length
  }
  syncBuiltinESMExports()
}

/** The steps of a connection, or a transaction, since its last BEGIN. */
class Steps {
  #hasMoved = false
  #hasCopied = false
  #hasAttached = false

  /** To be called before a statement is sent. Returns true when the process must end after its answer. */
  before(text) {
    if (this.#hasMoved) dieAt('offset moved')
    if (/^(UPDATE|INSERT INTO) journal_offsets/.test(text)) this.#hasMoved = true
    if (text.startsWith('COPY request_log')) this.#hasCopied = true
    if (text.includes('ATTACH PARTITION')) this.#hasAttached = true
    if (text.startsWith('DELETE FROM journal_offsets')) dieAt('segment deleted')
    if (text !== 'COMMIT') return false
    if (this.#hasAttached) dieAt('partition made')
    const isSettlement = this.#hasCopied
    this.#hasMoved = this.#hasCopied = this.#hasAttached = false
    if (isSettlement) dieAt('uncommitted')
    return isSettlement && isDue('committed')
  }
}

async function watchControl() {
  const { default: pg } = await import('pg')
  const { query } = pg.Client.prototype
  const byClient = new WeakMap()
  pg.Client.prototype.query = function (...rest) {
    const steps = byClient.get(this) ?? new Steps()
    byClient.set(this, steps)
    const isLast = steps.before(typeof rest[0] === 'string' ? rest[0] : (rest[0]?.text ?? ''))
    const answer = query.apply(this, rest)
    return isLast ? answer.then(die) : answer
  }

  const { postMessage } = Worker.prototype
  const byTransaction = new Map()
  Worker.prototype.postMessage = function (message, ...rest) {
    const text = textOf(message?.work)
    if (text !== null) {
      const steps = byTransaction.get(message.transaction) ?? new Steps()
      byTransaction.set(message.transaction, steps)
      if (steps.before(text)) {
        this.prependListener('message', ({ id }) => {
          if (id === message.id) die()
        })
      }
    }
    return postMessage.call(this, message, ...rest)
  }
}

/** The statement that Postgres would get for this work. */
function textOf(work) {
  switch (work?.kind) {
    case 'query':
      return work.text
    case 'script':
      return work.sql
    case 'copy-in':
      return `COPY ${work.table}`
    case 'end':
      return work.outcome === 'commit' ? 'COMMIT' : 'ROLLBACK'
    default:
      return null
  }
}

if (isMainThread && file !== undefined && /^(front|control)-/.test(kind)) {
  process.on('SIGUSR2', () => {
    const { shiftDays, ...next } = JSON.parse(readFileSync(`${file}.${process.pid}`, 'utf8'))
    if (shiftDays !== undefined) shift = { days: shiftDays }
    order = next
  })
  await (kind.startsWith('front') ? watchFront() : watchControl())
}
