/*
 * Loaded into every process of a gateway (`NODE_OPTIONS=--import …`), this ends one with SIGKILL at an exact point of its
 * work: the program itself knows nothing of it. A process is armed by SIGUSR2, upon which it reads the order in the file that
 * SLUICE_FAIL_POINTS and its process id name: `{ point, skip, share, shiftDays }`. It ends when it has come to the point `skip` times before;
 * of a torn frame it writes `share`. With `shiftDays`, a front dates its records so many days ahead from then on.
 * Beside the orders it leaves the time of its end.
 */
import fs, { readFileSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { isMainThread, Worker } from 'node:worker_threads'

const FRAME_HEADER_BYTES = 8
const DAY_MS = 86_400_000
/** Of a record, behind the array's three bytes. */
const KINDS = { 1: 'begin', 2: 'end' }

const file = process.env.SLUICE_FAIL_POINTS
const kind = process.env.SLUICE_PROCESS ?? ''
/** The folder of what tests have built of `src`. */
const modules = process.env.SLUICE_TEST_MODULES
let order = null
let shift = null

/** Whether the process has come to the end of its life. */
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
  /** Descriptor → what of the segment is there. */
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

/** What a connection, or a transaction, has done since its last beginning. */
class Steps {
  #hasMoved = false
  #hasCopied = false
  #hasAttached = false

  /** Before a statement is sent. True when the process is to end once it is answered. */
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

/** As Postgres would be asked. */
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
