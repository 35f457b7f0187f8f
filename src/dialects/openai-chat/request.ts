import type { BodyEdits } from '../../shared/core/dialect.ts'
import type { HostQuirks } from '../../shared/core/host-quirks.ts'
import type { MemberSpan, RequestBody } from '../../shared/core/request-body.ts'
import { editMember, REMOVED, spliceMembers } from '../common/body-edits.ts'
import type { MemberEdit } from '../common/body-edits.ts'
import { asObject } from '../common/json-value.ts'
import { HostRules } from './host-rules.ts'

const STREAM_OPTIONS = 'stream_options'

const NOTHING: readonly string[] = []

/** Quirks are few and belong to a snapshot. Their rules are freed together with them. */
const rulesByQuirks = new WeakMap<HostQuirks, HostRules>()

/**
 * Sets the upstream's model name, removes members that name a host or a key, asks for usage in streams, and applies the
 * host's rules.
 */
export function prepareBody(body: RequestBody, edits: BodyEdits): Buffer {
  const rules = edits.quirks === undefined ? null : rulesOf(edits.quirks)
  const asks = edits.stream && (rules === null || rules.takesStreamOptions)
  const missing = asks && !body.members.some((member) => member.name === STREAM_OPTIONS)
  return spliceMembers(
    body,
    (member) => {
      if (member.name === STREAM_OPTIONS) return editStreamOptions(member, body, asks, rules)
      return editMember(member, body, edits) ?? rules?.edit(member, body) ?? null
    },
    missing ? `"${STREAM_OPTIONS}":{"include_usage":true}` : null,
  )
}

/** Names of the body's members that this host refuses. */
export function leftOut(body: RequestBody, { quirks }: BodyEdits): readonly string[] {
  return quirks?.refusedFields === undefined ? NOTHING : rulesOf(quirks).leftOut(body)
}

function rulesOf(quirks: HostQuirks): HostRules {
  let rules = rulesByQuirks.get(quirks)
  if (rules === undefined) rulesByQuirks.set(quirks, (rules = new HostRules(quirks)))
  return rules
}

function editStreamOptions(member: MemberSpan, body: RequestBody, asks: boolean, rules: HostRules | null): MemberEdit {
  if (rules !== null && !rules.takesStreamOptions) return REMOVED
  return asks ? askForUsage(member, body.bytes) : null
}

/** Keeps a value that is neither object nor null: the upstream will judge it. */
function askForUsage(member: MemberSpan, bytes: Buffer): MemberEdit {
  const value: unknown = JSON.parse(bytes.toString('utf8', member.valueStart, member.valueEnd))
  if (value === null) return '{"include_usage":true}'
  const options = asObject(value)
  if (options === null || options['include_usage'] === true) return null
  return JSON.stringify({ ...options, include_usage: true })
}
