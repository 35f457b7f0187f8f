import { createContext, use } from 'react'
import { mayDo } from '../api/rights.ts'
import type { Action, Role } from '../api/rights.ts'
import type { Account } from '../api/session.ts'

/** Whose things a page shows. It is the first part of each path. */
export type Scope =
  | { readonly kind: 'own' }
  | { readonly kind: 'enterprise'; readonly id: string; readonly name: string; readonly role: Role }
  | { readonly kind: 'platform' }

/** A path below `/console`, taken apart. */
export interface Place {
  readonly scope: Scope
  /** Of the page, without the scope: `/keys/key_1`. */
  readonly path: string
}

const ENTERPRISE = /^\/e\/([^/]+)(\/.*)?$/
const PLATFORM = /^\/platform(\/.*)?$/

/** Null: there is no such scope, or it is not this person's. */
export function placeOf(location: string, account: Account): Place | null {
  const enterprise = ENTERPRISE.exec(location)
  if (enterprise !== null) {
    const scope = enterpriseScope(decoded(enterprise[1] ?? ''), account)
    return scope === null ? null : { scope, path: enterprise[2] ?? '/' }
  }
  const platform = PLATFORM.exec(location)
  if (platform !== null) {
    return account.role === 'admin' ? { scope: { kind: 'platform' }, path: platform[1] ?? '/' } : null
  }
  return { scope: { kind: 'own' }, path: location }
}

function enterpriseScope(id: string, account: Account): Scope | null {
  const membership = account.enterprises.find((one) => one.id === id)
  // A platform admin acts in every enterprise as its owner.
  if (account.role === 'admin') return { kind: 'enterprise', id, name: membership?.name ?? id, role: 'owner' }
  return membership === undefined ? null : { kind: 'enterprise', ...membership }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

export function pathIn(scope: Scope, path: string): string {
  if (scope.kind === 'own') return path
  return scope.kind === 'platform' ? `/platform${path}` : `/e/${encodeURIComponent(scope.id)}${path}`
}

/** Whether the person may do it in the scope; everything may be done with one's own, and by the platform's admins. */
export function mayIn(scope: Scope, action: Action): boolean {
  return scope.kind === 'enterprise' ? mayDo(scope.role, action) : true
}

const ScopeContext = createContext<Scope | null>(null)
export const ScopeProvider = ScopeContext

export function useScope(): Scope {
  const scope = use(ScopeContext)
  if (scope === null) throw new Error('useScope() is used outside of the shell.')
  return scope
}

const AccountContext = createContext<Account | null>(null)
export const AccountProvider = AccountContext

/** The currency of the installation, ISO 4217. */
export function useCurrency(): string {
  return use(AccountContext)?.currency ?? 'USD'
}

export function useAccount(): Account {
  const account = use(AccountContext)
  if (account === null) throw new Error('useAccount() is used outside of the shell.')
  return account
}
