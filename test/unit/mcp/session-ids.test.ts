import type { ClientCapabilities } from '@modelcontextprotocol/server'
import { describe, expect, it } from 'vitest'
import { SessionIds } from '../../../src/control/mcp/session-ids.ts'
import { Seal } from '../../../src/shared/runtime/seal.ts'

const seal = new Seal(Buffer.alloc(32), 'a test')
const DAY_MS = 86_400_000
const CLIENTS: readonly ClientCapabilities[] = [
  {},
  { elicitation: {} },
  { elicitation: { form: {} } },
  { elicitation: { url: {} } },
  { elicitation: { form: {}, url: {} }, sampling: {} },
  { sampling: {} },
]

/** An id of the form before capabilities were in it. */
function earlier(subject: string, beganMs: number): string {
  const began = Buffer.alloc(8)
  began.writeDoubleBE(beganMs)
  return seal.seal(began, Buffer.from(subject)).toString('base64url')
}

describe('the id of a session', () => {
  it.each(CLIENTS)('tells each process that its client has %j', (capabilities) => {
    const id = new SessionIds(seal).issue('user:a', { ...capabilities, roots: {} })
    expect(id).toMatch(/^[\w-]{52}$/)
    expect(new SessionIds(seal).capabilitiesOf(id, 'user:a')).toEqual(capabilities)
  })

  it('is for its subject alone, with its only spelling, until the client ends it', () => {
    const ids = new SessionIds(seal)
    const id = ids.issue('user:a', {})
    const spelled = Buffer.from(id, 'base64url')
    expect(spelled.length % 3).toBe(0)
    expect(ids.capabilitiesOf(id, 'user:b')).toBeNull()
    expect(ids.capabilitiesOf(`${id.slice(0, -1)}${id.endsWith('A') ? 'B' : 'A'}`, 'user:a')).toBeNull()
    expect(new SessionIds(new Seal(Buffer.alloc(32, 1), 'a test')).capabilitiesOf(id, 'user:a')).toBeNull()
    ids.end(id)
    expect(ids.capabilitiesOf(id, 'user:a')).toBeNull()
  })

  it('is taken in the form of earlier versions, which tells no capabilities', () => {
    const ids = new SessionIds(seal)
    expect(ids.capabilitiesOf(earlier('user:a', Date.now()), 'user:a')).toEqual({})
    expect(ids.capabilitiesOf(earlier('user:a', Date.now() - 8 * DAY_MS), 'user:a')).toBeNull()
  })
})
