import { createHmac } from 'node:crypto'
import { takesIdempotencyKey } from '../../shared/api/operation.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { deriveKey, Seal } from '../../shared/runtime/seal.ts'
import { insertAuditEntry } from '../store/audit-log.ts'
import { claimAnswer, findAnswer, insertAnswer } from '../store/idempotent-answers.ts'
import type { AnswerName, StoredAnswer } from '../store/idempotent-answers.ts'
import { lockResource } from '../store/resource-lock.ts'
import type { TransactionScope } from '../store/transaction-scope.ts'
import { auditEntryOf } from './audit.ts'
import type { Attempt } from './audit.ts'
import { entityTagOf, namesTag } from './entity-tags.ts'

/** One call of an operation that changes something. */
export interface Change extends Attempt {
  readonly idempotencyKey: string | null
  /** The `If-Match` header: the entity tag that the client expects. */
  readonly ifMatch: string | null
  /** Reads the resource as its GET shows it; null when the resource has no GET. */
  readonly current: (() => Promise<unknown>) | null
  /** Called once the change is committed. */
  readonly afterCommit: (() => void)[]
}

/** The response to a change; `body` is JSON. */
export interface Outcome {
  readonly status: number
  readonly body: string | null
  readonly isReplayed: boolean
}

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/
const RETRY_SECONDS = 1

/**
 * Runs a change in one transaction with its row in the audit log and the stored response for its idempotency key. A failed change
 * has changed nothing and may be repeated.
 */
export class Changes {
  readonly #database: TransactionScope
  readonly #seal: Seal
  readonly #fingerprintKey: Buffer
  /** Names of the idempotent requests that are under way in this process. */
  readonly #running = new Set<string>()

  /** @param secret the server's secret; keys are derived from it */
  constructor(database: TransactionScope, secret: Buffer) {
    this.#database = database
    this.#seal = new Seal(secret, 'idempotent answers')
    this.#fingerprintKey = deriveKey(secret, 'idempotent requests')
  }

  /** Throws INVALID_HEADER, IDEMPOTENCY_RUNNING, IDEMPOTENCY_MISMATCH, PRECONDITION_FAILED, or the error of `work`. */
  async apply(change: Change, work: () => Promise<unknown>): Promise<Outcome> {
    const name = answerNameOf(change)
    if (name === null) return this.#unit(change, null, work)
    const running = JSON.stringify(name)
    if (this.#running.has(running)) throw stillRunning()
    this.#running.add(running)
    try {
      return await this.#unit(change, name, work)
    } finally {
      this.#running.delete(running)
    }
  }

  #unit(change: Change, name: AnswerName | null, work: () => Promise<unknown>): Promise<Outcome> {
    return this.#database.run(async () => {
      // A repeated transaction starts without the callbacks of the attempt that was rolled back.
      change.afterCommit.length = 0
      if (name !== null) {
        const stored = await this.#stored(change, name)
        if (stored !== null) return stored
      }
      if (change.ifMatch !== null) await this.#match(change, change.ifMatch)
      const value = await work()
      const { status, schema } = change.spec.answer
      const body = schema === null ? null : JSON.stringify(value)
      await insertAuditEntry(this.#database, auditEntryOf(change, { outcome: 'done', answer: value }))
      if (name !== null) {
        const answer = this.#seal.seal(Buffer.from(body ?? ''), contextOf(name))
        await insertAnswer(this.#database, name, { fingerprint: this.#fingerprint(change), status, answer })
      }
      return { status, body, isReplayed: false }
    })
  }

  /** Returns the stored response to the first request with this key; null when there is none. */
  async #stored(change: Change, name: AnswerName): Promise<Outcome | null> {
    if (!(await claimAnswer(this.#database, name))) throw stillRunning()
    const stored = await findAnswer(this.#database, name)
    if (stored === null) return null
    if (!stored.fingerprint.equals(this.#fingerprint(change))) throw new GatewayError('IDEMPOTENCY_MISMATCH')
    return { status: stored.status, body: this.#opened(stored, name), isReplayed: true }
  }

  #opened({ answer }: StoredAnswer, name: AnswerName): string | null {
    const opened = this.#seal.open(answer, contextOf(name))
    if (opened === null) {
      throw new GatewayError('CONFLICT', {
        message: 'This request was done before, but its stored response can no longer be read.',
      })
    }
    return opened.length === 0 ? null : opened.toString('utf8')
  }

  async #match({ path, params, current }: Change, ifMatch: string): Promise<void> {
    if (current === null) {
      throw new GatewayError('PRECONDITION_FAILED', {
        message: 'This resource has no ETag: send the request without If-Match.',
      })
    }
    await lockResource(this.#database, path, Object.values(params).at(-1) ?? path)
    if (!namesTag(ifMatch, entityTagOf(await current()))) throw new GatewayError('PRECONDITION_FAILED')
  }

  /** The digest is keyed: the body may hold a password, which could be guessed from a plain digest. */
  #fingerprint({ query, sent }: Change): Buffer {
    return createHmac('sha256', this.#fingerprintKey)
      .update(JSON.stringify([query, sent]))
      .digest()
  }
}

function answerNameOf({ name, spec, path, caller, idempotencyKey }: Change): AnswerName | null {
  if (idempotencyKey === null || caller === null || !takesIdempotencyKey(spec)) return null
  if (!IDEMPOTENCY_KEY.test(idempotencyKey)) {
    throw new GatewayError('INVALID_HEADER', {
      message: 'Idempotency-Key must be 1 to 255 visible ASCII characters.',
    })
  }
  return { userId: caller.userId, operation: name, path, key: idempotencyKey }
}

function contextOf(name: AnswerName): Buffer {
  return Buffer.from(JSON.stringify(name))
}

function stillRunning(): GatewayError {
  return new GatewayError('IDEMPOTENCY_RUNNING', { retryAfterSeconds: RETRY_SECONDS })
}
