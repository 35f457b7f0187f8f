import type { OperationSpec } from '../../shared/api/operation.ts'
import { isChange, showsBodies } from '../../shared/api/operation.ts'
import type { Clock } from '../../shared/runtime/clock.ts'
import type { GatewayError } from '../../shared/core/errors.ts'
import { insertAuditEntry } from '../store/audit-log.ts'
import type { AuditEntry } from '../store/audit-log.ts'
import type { Queryable } from '../store/database.ts'
import type { Caller } from './call.ts'
import { withoutSecrets } from './without-secrets.ts'

/** One call of an operation, successful or refused. */
export interface Attempt {
  /** The name of the operation. */
  readonly name: string
  readonly spec: OperationSpec
  readonly path: string
  readonly params: Readonly<Record<string, string>>
  readonly query: unknown
  /** The body; null when there was none, or when it was not read. */
  readonly sent: unknown
  readonly caller: Caller | null
  readonly address: string
  readonly requestId: string
}

type Ending =
  | {
      readonly outcome: 'done'
      readonly answer: unknown
      readonly changes: string | null
      /** Of what was changed or shown; null: the path names it, or there is none. */
      readonly enterpriseId: string | null
    }
  | { readonly outcome: 'refused'; readonly code: string }

/** Token bucket for the refusals that are recorded: its size, and its refill per second. */
const BURST = 200
const PER_SECOND = 10
const RECORDED_REFUSALS: ReadonlySet<string> = new Set([
  'LOGIN_FAILED',
  'LOGIN_THROTTLED',
  'EMAILS_THROTTLED',
  'CODE_INVALID',
])
const ENTERPRISE_PATH = /^\/v1\/(?:admin\/enterprises|enterprise)\/\{id\}/

export function auditEntryOf(attempt: Attempt, ending: Ending): AuditEntry {
  const { name, path, params, sent, caller, address, requestId, spec } = attempt
  return {
    userId: caller?.userId ?? null,
    role: caller === null ? null : (caller.enterpriseRole ?? caller.role),
    operation: name,
    path,
    enterpriseId: ENTERPRISE_PATH.test(spec.path) ? (params['id'] ?? null) : enterpriseOf(ending),
    targetId: (ending.outcome === 'done' ? idOf(ending.answer) : null) ?? Object.values(params).at(-1) ?? null,
    sent: sent === null ? null : withoutSecrets(sent),
    changes: ending.outcome === 'done' ? ending.changes : null,
    address,
    requestId,
    outcome: ending.outcome,
    errorCode: ending.outcome === 'refused' ? ending.code : null,
  }
}

/** Records each call that shows captured bodies. */
export class LookLog {
  readonly #database: Queryable

  constructor(database: Queryable) {
    this.#database = database
  }

  /** Call it before the answer begins. @param shown the answer */
  async add(attempt: Attempt, shown: unknown): Promise<void> {
    const { spec, query } = attempt
    // A file has no such field. Of others than admins, the filter can name an enterprise that is not theirs.
    const enterpriseId = enterpriseIn(shown) ?? (spec.access === 'platform-admin' ? enterpriseIn(query) : null)
    const ending = { outcome: 'done', answer: shown, changes: null, enterpriseId } as const
    await insertAuditEntry(this.#database, auditEntryOf({ ...attempt, sent: query }, ending))
  }
}

function enterpriseIn(fields: unknown): string | null {
  const { enterprise_id: enterpriseId } = fields as { readonly enterprise_id?: unknown }
  return typeof enterpriseId === 'string' ? enterpriseId : null
}

/** Records refused calls in the audit log: changes without permission, and failed log-ins. */
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

  /** Ignores other errors, and refusals above the rate: a client that calls in a loop must not fill the disk. */
  async add(attempt: Attempt, error: GatewayError): Promise<void> {
    const { spec, query } = attempt
    const isRefused =
      error.status === 403 ? isChange(spec) || showsBodies(spec, query) : RECORDED_REFUSALS.has(error.code)
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

function enterpriseOf(ending: Ending): string | null {
  return ending.outcome === 'done' ? ending.enterpriseId : null
}

/** Returns the id of the created or changed resource, if the response contains it. */
function idOf(answer: unknown): string | null {
  if (typeof answer !== 'object' || answer === null) return null
  const { id, user, enterprise } = answer as { id?: unknown; user?: unknown; enterprise?: unknown }
  return typeof id === 'string' ? id : (idOf(user ?? null) ?? idOf(enterprise ?? null))
}
