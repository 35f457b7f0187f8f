import { describe, expect, it } from 'vitest'
import { grantedBy, isSubject, nameOf, verifiedEmailOf } from '../../../src/control/management/oidc-claims.ts'
import type { OidcClaimRule } from '../../../src/shared/config/shape.ts'

const sub = 'subject'
const rule = (claim: string, value: string, more: Partial<OidcClaimRule> = {}): OidcClaimRule => ({
  claim,
  value,
  role: null,
  enterprise: null,
  ...more,
})
const member = (role: 'owner' | 'admin' | 'finance' | 'employee') => ({ enterprise: { id: 'ent_1', role } })

describe('claims', () => {
  it.each([
    ['a text', { groups: 'x' }, 'groups'],
    ['a list', { groups: ['y', 'x'] }, 'groups'],
    ['within objects', { realm_access: { roles: ['x'] } }, 'realm_access.roles'],
    ['a name with dots', { 'https://example.com/roles': ['x'] }, 'https://example.com/roles'],
    ['a number', { groups: ['x', 5] }, 'groups'],
  ])('match by value: %s', (_, claims, claim) => {
    expect(grantedBy({ sub, ...claims }, [rule(claim, 'x', { role: 'admin' })]).role).toBe('admin')
  })

  it.each([
    ['missing', {}],
    ['another value', { groups: ['xx', 'X', ' x'] }],
    ['an object', { groups: { x: true } }],
    ['a list in a list', { groups: [['x']] }],
    ['null', { groups: null }],
  ])('do not match: %s', (_, claims) => {
    expect(grantedBy({ sub, ...claims }, [rule('groups', 'x', { role: 'admin' })]).role).toBe('user')
  })

  it('decide about the role on the platform only where a rule does', () => {
    expect(grantedBy({ sub, groups: ['x'] }, [rule('groups', 'x', member('owner'))]).role).toBeNull()
    expect(grantedBy({ sub, groups: ['x'] }, []).role).toBeNull()
  })

  it('give the highest of several roles in an enterprise', () => {
    const rules = [rule('g', 'a', member('employee')), rule('g', 'b', member('admin')), rule('g', 'c', member('owner'))]
    expect([...grantedBy({ sub, g: ['a', 'b'] }, rules).enterprises]).toEqual([['ent_1', 'admin']])
    expect(grantedBy({ sub, g: [] }, rules).enterprises.size).toBe(0)
  })

  it('do not match what an object inherits', () => {
    expect(grantedBy({ sub }, [rule('constructor.name', 'Object', { role: 'admin' })]).role).toBe('user')
  })
})

it.each([
  [{ email: 'a@example.com', email_verified: true }, 'a@example.com'],
  [{ email: 'a@example.com', email_verified: 'true' }, null],
  [{ email: 'a@example.com' }, null],
  [{ email: 'a@example.com', email_verified: false }, null],
  [{ email: 'nobody', email_verified: true }, null],
  [{ email: ['a@example.com'], email_verified: true }, null],
  [{ email: 'a\0@example.com', email_verified: true }, null],
])('takes an address as verified only when the provider says so: %j', (claims, email) => {
  expect(verifiedEmailOf({ sub, ...claims })).toBe(email)
})

it.each([
  [{ name: ' Ada ' }, 'Ada'],
  [{ name: ' ', preferred_username: 'ada' }, 'ada'],
  [{ name: 5, email: 'a@example.com' }, 'a@example.com'],
  [{}, sub],
  [{ name: `a\0${'b'.repeat(97)}\u{1f600}` }, `a\ufffd${'b'.repeat(97)}\ufffd`],
])('names a user by %j', (claims, name) => {
  expect(nameOf({ sub, ...claims })).toBe(name)
})

it.each([
  ['a', true],
  ['x'.repeat(255), true],
  ['x'.repeat(256), false],
  ['', false],
  ['a\0', false],
  ['\ud800', false],
])('takes only subjects that can be stored: %j', (subject, expected) => {
  expect(isSubject(subject)).toBe(expected)
})
