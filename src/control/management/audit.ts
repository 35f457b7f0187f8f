import type { OperationSpec } from '../../shared/api/operation.ts'
import { isChange } from '../../shared/api/operation.ts'
import type { Clock } from '../../shared/runtime/clock.ts'
import type { GatewayError } from '../../shared/core/errors.ts'
import { insertAuditEntry } from '../store/audit-log.ts'
import type { AuditEntry } from '../store/audit-log.ts'
import type { Queryable } from '../store/database.ts'
import type { Caller } from './call.ts'
import { withoutSecrets } from './without-secrets.ts'

/** What somebody tried to do. */
export interface Attempt {
  /** Of the operation. */
  readonly name: string
  readonly spec: OperationSpec
  readonly path: string
  readonly params: Readonly<Record<string, string>>
  readonly query: unknown
  /** The body; null: there was none, or it was not looked at. */
  readonly sent: unknown
  readonly caller: Caller | null
  readonly address: string
  readonly requestId: string
}

type Ending =
  { readonly outcome: 'done'; readonly answer: unknown } | { readonly outcome: 'refused'; readonly code: string }

/** Refusals that are written down: as many at once, and so many a second from then on. */
const BURST = 200
const PER_SECOND = 10
const LOGIN_REFUSALS: ReadonlySet<string> = new Set(['LOGIN_FAILED', 'LOGIN_THROTTLED'])
const ENTERPRISE_PATH = /^\/v1\/(?:admin\/enterprises|enterprise)\/\{id\}/

export function auditEntryOf(attempt: Attempt, ending: Ending): AuditEntry {
  const { name, path, params, sent, caller, address, requestId, spec } = attempt
  return {
    userId: caller?.userId ?? null,
    role: caller === null ? null : (caller.enterpriseRole ?? caller.role),
    operation: name,
    path,
    enterpriseId: ENTERPRISE_PATH.test(spec.path) ? (params['id'] ?? null) : null,
    targetId: (ending.outcome === 'done' ? idOf(ending.answer) : null) ?? Object.values(params).at(-1) ?? null,
    sent: sent === null ? null : withoutSecrets(sent),
    address,
    requestId,
    outcome: ending.outcome,
    errorCode: ending.outcome === 'refused' ? ending.code : null,
  }
}

/** Writes down who was not let: attempts to change what is not theirs, and to log in. */
export class RefusalLog {
  readonly #database: Queryable
  readonly #clock: Clock
  #left = BURST
  #filledAtMs: number

  constructor(database: Queryable, clock: Clock) {
    this.#database = database
    this.#clock = clock
    this.#filledAtMs = clock.now()
  }

  /** Nothing happens for other errors, nor when there are too many: whoever asks in a loop must not fill the disk. */
  async add(attempt: Attempt, error: GatewayError): Promise<void> {
    const isRefused = error.status === 403 ? isChange(attempt.spec) : LOGIN_REFUSALS.has(error.code)
    if (!isRefused || !this.#take()) return
    await insertAuditEntry(this.#database, auditEntryOf(attempt, { outcome: 'refused', code: error.code }))
  }

  #take(): boolean {
    const nowMs = this.#clock.now()
    const filled = (Math.max(0, nowMs - this.#filledAtMs) / 1000) * PER_SECOND
    this.#left = Math.min(BURST, this.#left + filled)
    this.#filledAtMs = nowMs
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }
}

/** Of what was made or changed, where the answer tells. */
function idOf(answer: unknown): string | null {
  if (typeof answer !== 'object' || answer === null) return null
  const { id, user, enterprise } = answer as { id?: unknown; user?: unknown; enterprise?: unknown }
  return typeof id === 'string' ? id : (idOf(user ?? null) ?? idOf(enterprise ?? null))
}
