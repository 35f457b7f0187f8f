import type { Capture, CaptureBatch, CapturedBytes, CaptureReply, CaptureSettings } from '../../shared/core/capture.ts'
import { Semaphore } from '../../shared/runtime/semaphore.ts'
import { captureTenantOf, holdDataKeys, insertCapture, listCaptureSettings, listErasures } from '../store/captures.ts'
import type { CapturePart, StoredCapture } from '../store/captures.ts'
import type { Database } from '../store/database.ts'
import { DAY_MS } from '../store/partitions.ts'
import type { BodyTask, PackedBody } from './body-task.ts'
import type { DataKey, DataKeys } from './data-keys.ts'
import { PackingTime } from './packing-time.ts'
import { effectiveSettings } from './settings.ts'

/** Redacts and seals bodies, one after the other. */
export interface BodyPacker {
  pack(task: BodyTask): Promise<PackedBody>
  close(): Promise<void>
}

export interface CapturesOptions {
  readonly database: Database
  readonly dataKeys: DataKeys
  /** Loaded with the first capture. */
  readonly loadPool: () => Promise<BodyPacker>
  readonly isAllowed: boolean
  readonly maxBodyBytes: number
  /** Days that the request log keeps its rows; 0: for ever. */
  readonly logRetentionDays: number
  readonly now: () => number
  readonly onStored: (captures: number) => void
  readonly onDropped: (reason: 'off' | 'failed', captures: number) => void
  readonly onFault: (cause: unknown) => void
}

interface Ready {
  readonly capture: Capture
  readonly settings: CaptureSettings
  readonly dataKey: DataKey
}

/** After a body that took too long, no body of its key is worked on for this time. */
const SLOW_KEY_MS = 600_000
const MAX_SLOW_KEYS = 1_000

/** Takes captured bodies of fronts: redacts and seals them in the pool, and stores them. One batch at a time. */
export class CaptureReceiver {
  readonly #options: CapturesOptions
  readonly #turn = new Semaphore(1)
  /** Ids of keys, and until when their captures are dropped. */
  readonly #slowKeys = new Map<string, number>()
  readonly #packingTime = new PackingTime()
  #pool: Promise<BodyPacker> | null = null
  #isStopped = false

  constructor(options: CapturesOptions) {
    this.#options = options
  }

  receive({ id, captures }: CaptureBatch, reply: (reply: CaptureReply) => void): void {
    const answer = (isStored: boolean): void => {
      // The next control process gets it again.
      if (!this.#isStopped) reply({ type: 'captures-reply', id, isStored })
    }
    this.#turn
      .run(() => this.#take(captures))
      .then(
        () => {
          answer(true)
        },
        (cause: unknown) => {
          this.#options.onFault(cause)
          answer(false)
        },
      )
  }

  /** Resolves when the batch under way has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#turn.run(() => Promise.resolve())
    const pool = await this.#pool?.catch(() => null)
    await pool?.close()
  }

  async #take(captures: readonly Capture[]): Promise<void> {
    if (this.#isStopped) return
    const { database, onStored, onDropped } = this.#options
    const ready = await this.#ready(captures)
    const stored: StoredCapture[] = []
    let failed = 0
    for (const one of ready) {
      // The next control process gets the whole batch.
      if (this.#isStopped) return
      const parts = await this.#packed(one)
      if (parts === null) failed += 1
      else stored.push(...parts)
    }
    const kept = await database.transaction(async (tx) => {
      const held = await holdDataKeys(tx, [...new Set(stored.map(({ keyId }) => keyId))])
      const erased = await listErasures(tx, [...new Set(captures.map(captureTenantOf))])
      const tooOld = new Set(captures.filter((one) => isErased(one, erased)).map(({ requestId }) => requestId))
      const toInsert = stored.filter(({ keyId, requestId }) => held.has(keyId) && !tooOld.has(requestId)).sort(byBody)
      for (const capture of toInsert) await insertCapture(tx, capture)
      return new Set(toInsert.map(({ requestId }) => requestId)).size
    })
    onStored(kept)
    if (failed > 0) onDropped('failed', failed)
    if (kept + failed < captures.length) onDropped('off', captures.length - kept - failed)
  }

  /** Those of the captures whose key still captures, with the settings and the data key. */
  async #ready(captures: readonly Capture[]): Promise<Ready[]> {
    const { database, dataKeys, isAllowed } = this.#options
    if (!isAllowed) return []
    const rows = await listCaptureSettings(database, [...new Set(captures.map(({ keyId }) => keyId))])
    const settings = new Map(rows.map((row) => [row.keyId, effectiveSettings(row)]))
    const keys = new Map<string, DataKey | null>()
    const ready: Ready[] = []
    for (const capture of captures) {
      const ofKey = settings.get(capture.keyId) ?? null
      if (ofKey === null) continue
      const tenant = captureTenantOf(capture)
      const dataKey = keys.has(tenant) ? (keys.get(tenant) ?? null) : await dataKeys.of(database, tenant)
      keys.set(tenant, dataKey)
      if (dataKey !== null) ready.push({ capture, settings: ofKey, dataKey })
    }
    return ready
  }

  /** The bodies as they are stored; null when one of them cannot be redacted, or the tenant has taken too much time. */
  async #packed({ capture, settings, dataKey }: Ready): Promise<StoredCapture[] | null> {
    const { now, onFault } = this.#options
    const tenant = captureTenantOf(capture)
    if (this.#isSlow(capture.keyId) || this.#packingTime.isSpent(tenant, now())) return null
    const parts: StoredCapture[] = []
    const given: Array<readonly [CapturePart, CapturedBytes | null]> = [
      ['request', settings.requests ? capture.request : null],
      ['answer', settings.answers ? capture.answer : null],
    ]
    try {
      for (const [part, body] of given) {
        if (body === null) continue
        const fromMs = now()
        try {
          parts.push(await this.#pack(part, body, { capture, settings, dataKey }))
        } finally {
          this.#packingTime.charge(tenant, fromMs, now())
        }
      }
    } catch (cause) {
      this.#setSlow(capture.keyId)
      onFault(cause)
      return null
    }
    return parts
  }

  async #pack(part: CapturePart, body: CapturedBytes, { capture, settings, dataKey }: Ready): Promise<StoredCapture> {
    this.#pool ??= this.#options.loadPool()
    const pool = await this.#pool
    const { maxBodyBytes, logRetentionDays } = this.#options
    const isCut = body.bytes.length < body.size || !body.isComplete
    const packed = await pool.pack({
      bytes: body.bytes,
      isCut,
      patterns: settings.redact,
      dataKey: dataKey.key,
      maxBytes: maxBodyBytes,
    })
    const days = logRetentionDays === 0 ? settings.retainDays : Math.min(settings.retainDays, logRetentionDays)
    return {
      requestId: capture.requestId,
      part,
      keyId: dataKey.id,
      digest: packed.digest,
      sealed: packed.sealed,
      size: body.size,
      truncated: packed.isCut,
      complete: body.isComplete,
      redactions: packed.redactions,
      expiresAt: new Date(capture.atMs + days * DAY_MS),
    }
  }

  #isSlow(keyId: string): boolean {
    const untilMs = this.#slowKeys.get(keyId)
    if (untilMs === undefined) return false
    if (this.#options.now() < untilMs) return true
    this.#slowKeys.delete(keyId)
    return false
  }

  #setSlow(keyId: string): void {
    this.#slowKeys.delete(keyId)
    const [oldest] = this.#slowKeys.keys()
    if (this.#slowKeys.size >= MAX_SLOW_KEYS && oldest !== undefined) this.#slowKeys.delete(oldest)
    this.#slowKeys.set(keyId, this.#options.now() + SLOW_KEY_MS)
  }
}

/** It was on its way when all bodies of its tenant were erased. */
function isErased(capture: Capture, erasures: ReadonlyMap<string, number>): boolean {
  return capture.atMs <= (erasures.get(captureTenantOf(capture)) ?? -Infinity)
}

/** The same order everywhere, so that machines that store the same bodies do not wait for each other in a circle. */
function byBody(a: StoredCapture, b: StoredCapture): number {
  return a.keyId - b.keyId || Buffer.compare(a.digest, b.digest)
}
