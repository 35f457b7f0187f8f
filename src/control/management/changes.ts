import { createHmac } from 'node:crypto'
import { takesIdempotencyKey } from '../../shared/api/operation.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { deriveKey, Seal } from '../../shared/runtime/seal.ts'
import { insertAuditEntry } from '../store/audit-log.ts'
import { claimAnswer, findAnswer, insertAnswer } from '../store/idempotent-answers.ts'
import type { AnswerName, StoredAnswer } from '../store/idempotent-answers.ts'
import { lockResource } from '../store/resource-lock.ts'
import type { TransactionScope } from '../store/transaction-scope.ts'
import { changedFields } from './audit-changes.ts'
import type { Audited } from './audit-changes.ts'
import { auditEntryOf } from './audit.ts'
import type { Attempt } from './audit.ts'
import { entityTagOf, namesTag } from './entity-tags.ts'

/** One call of an operation that changes something. */
export interface Change extends Attempt {
  readonly idempotencyKey: string | null
  /** The `If-Match` header: the entity tag that the client expects. */
  readonly ifMatch: string | null
  /** Reads the resource as its GET shows it, without its spend; null when the resource has no GET. */
  readonly current: (() => Promise<unknown>) | null
  /** The values that the handler gives to the audit log. */
  readonly audited: Audited[]
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
      change.audited.length = 0
      if (name !== null) {
        const stored = await this.#stored(change, name)
        if (stored !== null) return stored
      }
      const before = await this.#before(change)
      if (change.ifMatch !== null) match(change, change.ifMatch, before)
      const value = await work()
      const { status, schema } = change.spec.answer
      const body = schema === null ? null : JSON.stringify(value)
      const changes = await changesOf(change, before, value)
      const enterpriseId = change.audited[0]?.enterpriseId ?? null
      const ending = { outcome: 'done', answer: value, changes, enterpriseId } as const
      await insertAuditEntry(this.#database, auditEntryOf(change, ending))
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

  /** Locks and reads the resource, so that nothing changes it between this reading and the change. Null when there is none. */
  async #before({ path, params, current }: Change): Promise<unknown> {
    // Read first: a caller locks nothing that the caller cannot see.
    if (current === null || (await foundOrNull(current)) === null) return null
    await lockResource(this.#database, path, Object.values(params).at(-1) ?? path)
    return foundOrNull(current)
  }

  /** The digest is keyed: the body may hold a password, which could be guessed from a plain digest. */
  #fingerprint({ query, sent }: Change): Buffer {
    return createHmac('sha256', this.#fingerprintKey)
      .update(JSON.stringify([query, sent]))
      .digest()
  }
}

/** Throws PRECONDITION_FAILED, or NOT_FOUND when there is no such resource. */
function match({ current, spec }: Change, ifMatch: string, before: unknown): void {
  if (current === null || spec.method === 'POST') {
    throw new GatewayError('PRECONDITION_FAILED', {
      message: 'This resource has no ETag: send the request without If-Match.',
    })
  }
  if (before === null) throw new GatewayError('NOT_FOUND')
  if (!namesTag(ifMatch, entityTagOf(before))) throw new GatewayError('PRECONDITION_FAILED')
}

/** The fields that the change changed, for the audit log; null when nothing tells. */
async function changesOf({ spec, current, audited }: Change, before: unknown, answer: unknown): Promise<string | null> {
  const [told] = audited
  if (told !== undefined) return changedFields(told)
  if (current !== null) {
    return changedFields({ before, after: spec.method === 'DELETE' ? null : await foundOrNull(current) })
  }
  return spec.answer.status === 201 ? changedFields({ before: null, after: answer }) : null
}

async function foundOrNull(read: () => Promise<unknown>): Promise<unknown> {
  try {
    return await read()
  } catch (cause) {
    if (cause instanceof GatewayError && cause.code === 'NOT_FOUND') return null
    throw cause
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
