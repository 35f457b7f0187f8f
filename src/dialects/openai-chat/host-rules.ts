import type { HostQuirks } from '../../shared/core/host-quirks.ts'
import type { MemberSpan, RequestBody } from '../../shared/core/request-body.ts'
import type { MemberEdit } from '../common/body-edits.ts'
import { REMOVED } from '../common/body-edits.ts'

/** When a body has both, the first name wins. */
const LIMITS = ['max_completion_tokens', 'max_tokens'] as const

/** Matches a key only outside of strings: within a string, a backslash precedes each quote. */
const DEVELOPER_ROLE = /(?<!\\)"role"(\s*):(\s*)"developer"/g

/** A host's edits of the top-level members of a chat body. Built once for each set of quirks. */
export class HostRules {
  readonly takesStreamOptions: boolean
  readonly #refused: ReadonlySet<string>
  readonly #names: ReadonlyMap<string, string>
  readonly #limit: string | null
  readonly #takesDeveloperRole: boolean

  constructor(quirks: HostQuirks) {
    this.takesStreamOptions = quirks.takesStreamOptions ?? true
    this.#refused = new Set(quirks.refusedFields)
    this.#names = new Map(Object.entries(quirks.fieldNames ?? {}))
    this.#limit = quirks.maxTokensField ?? null
    this.#takesDeveloperRole = quirks.takesDeveloperRole ?? true
  }

  edit(member: MemberSpan, body: RequestBody): MemberEdit {
    const { name } = member
    if (this.#refused.has(name)) return REMOVED
    if (name === 'messages') return this.#takesDeveloperRole ? null : withSystemRole(member, body.bytes)
    if (this.#limit !== null && (name === LIMITS[0] || name === LIMITS[1])) return editLimit(member, body, this.#limit)
    const other = this.#names.get(name)
    if (other !== undefined) return isGiven(body, other) ? REMOVED : { name: other }
    // A null under the host's own name is removed when another name is renamed to it.
    const renamed = this.#names.size > 0 && isNull(member, body.bytes) && this.#isRenamedTo(name, body)
    return renamed ? REMOVED : null
  }

  leftOut(body: RequestBody): string[] {
    return body.members
      .filter((member) => this.#refused.has(member.name) && !isNull(member, body.bytes))
      .map(({ name }) => name)
  }

  #isRenamedTo(name: string, body: RequestBody): boolean {
    return body.members.some((member) => this.#names.get(member.name) === name)
  }
}

/** Keeps, of two token limits, the one that the protocol reads. Gives it the name that the host knows. */
function editLimit(member: MemberSpan, body: RequestBody, name: string): MemberEdit {
  const kept = LIMITS.find((limit) => isGiven(body, limit)) ?? LIMITS.find((limit) => isPresent(body, limit))
  if (member.name !== kept) return REMOVED
  return member.name === name ? null : { name }
}

/** Latin-1 keeps every byte unchanged. */
function withSystemRole({ valueStart, valueEnd }: MemberSpan, bytes: Buffer): MemberEdit {
  const at = bytes.indexOf('"developer"', valueStart)
  if (at === -1 || at >= valueEnd) return null
  const text = bytes.toString('latin1', valueStart, valueEnd)
  const edited = text.replace(DEVELOPER_ROLE, '"role"$1:$2"system"')
  return edited === text ? null : Buffer.from(edited, 'latin1')
}

function isPresent({ members }: RequestBody, name: string): boolean {
  return members.some((member) => member.name === name)
}

function isGiven({ members, bytes }: RequestBody, name: string): boolean {
  return members.some((member) => member.name === name && !isNull(member, bytes))
}

function isNull({ valueStart }: MemberSpan, bytes: Buffer): boolean {
  return bytes[valueStart] === 0x6e
}
