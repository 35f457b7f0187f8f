import { useSyncExternalStore } from 'react'
import { ApiError, AuthenticationError, SluiceClient } from '../../client/index.ts'
import type {
  CallArguments,
  CallOptions,
  ClientOperation,
  RequestOf,
  ResultOf,
  ToolResult,
} from '../../client/index.ts'

export type Account = ResultOf<'me'>
export type Membership = Account['enterprises'][number]

/** `DESIGN.md` says why it is not `sessionStorage`, and not a cookie. */
const TOKEN = 'sluice.token'
/** The id of its person, for other tabs: a page goes on with a new token only when it is of the same person. */
const USER = 'sluice.user'
const TIMEOUT_MS = 30_000
/** A tool may take long; the dialog can be closed. */
const TOOL_TIMEOUT_MS = 300_000
/** The page to which an OpenID provider sends the browser. */
const SIGNED_IN = '/console/signed-in'
const MAX_RETRIES = 2
/** The status of a change that meets another ETag. */
export const PRECONDITION_FAILED = 412
/** Codes of 401 that refuse what was typed: the session goes on. */
const OF_INPUT: ReadonlySet<string | null> = new Set([
  'LOGIN_FAILED',
  'CODE_REQUIRED',
  'CODE_INVALID',
  'SIGN_IN_FAILED',
])

export type SessionState = 'none' | 'open' | 'expired'

const client = new SluiceClient({
  baseUrl: location.origin,
  timeoutMs: TIMEOUT_MS,
  maxRetries: MAX_RETRIES,
  // A deletion goes on when the page is left.
  fetch: (url, init) => fetch(url, { ...init, keepalive: init?.method === 'DELETE' }),
})

type Session = Pick<ResultOf<'login'>, 'token' | 'user'>

interface Waiter {
  readonly resume: () => void
  readonly giveUp: (cause: Error) => void
}

/** The person left, or another one logged in: the call was not made. */
export class LoggedOut extends Error {}

let state: SessionState = 'none'
let userId: string | null = null
/** Grows whenever the person at the page leaves. */
let visit = 0
const listeners = new Set<() => void>()
/** Calls that met the end of the session; they go on after the next log-in. */
const waiters = new Set<Waiter>()

function change(next: SessionState): void {
  state = next
  for (const listener of listeners) listener()
}

function stored(name: string): string | null {
  try {
    return localStorage.getItem(name)
  } catch {
    return null
  }
}

function store(session: Session | null): void {
  try {
    if (session === null) {
      localStorage.removeItem(TOKEN)
      localStorage.removeItem(USER)
    } else {
      // Other tabs read the user when they are told of the token.
      localStorage.setItem(USER, session.user.id)
      localStorage.setItem(TOKEN, session.token)
    }
  } catch {
    // The session then lasts as long as the page.
  }
}

let forget = (): void => undefined
let readAgain = (): Promise<unknown> => Promise.resolve()

interface SessionUser {
  /** Runs before anybody else can log in. */
  readonly onEnd: () => void
  /** A change was refused because somebody else had changed the same: what is shown is old. The refusal waits for this. */
  readonly onConflict: () => Promise<unknown>
}

/** Takes up the session of the browser, and follows log-ins and log-outs in other tabs. */
export function startSession({ onEnd, onConflict }: SessionUser): void {
  forget = onEnd
  readAgain = onConflict
  // The browser comes back from a provider: whatever session was before, another one begins.
  client.token = location.pathname === SIGNED_IN ? null : stored(TOKEN)
  userId = stored(USER)
  if (client.token !== null) state = 'open'
  addEventListener('storage', ({ key, newValue }) => {
    if (key === TOKEN && newValue !== client.token) adopt(newValue, stored(USER))
  })
}

function begin(session: Session): void {
  store(session)
  adopt(session.token, session.user.id)
}

function adopt(token: string | null, id: string | null): void {
  client.token = token
  if (token === null) {
    drop()
    return
  }
  if (state !== 'none' && id !== userId) leave()
  userId = id
  change('open')
  for (const waiter of waiters) waiter.resume()
  waiters.clear()
}

function drop(): void {
  leave()
  change('none')
}

/** Forgets the data that the person was shown, and gives up the calls that wait. */
function leave(): void {
  visit += 1
  forget()
  for (const waiter of waiters) waiter.giveUp(new LoggedOut('The session has ended.'))
  waiters.clear()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
  }
}

export function useSessionState(): SessionState {
  return useSyncExternalStore(subscribe, () => state)
}

/** A key for the page: another one when somebody else may be at it, so that nothing typed or shown before is left. */
export function useVisit(): number {
  return useSyncExternalStore(subscribe, () => visit)
}

/** Rejects with the error of the log-in. */
export async function logIn(phone: string, password: string, code: string | null): Promise<Account> {
  const body = { phone, password, ...(code === null ? {} : { code }) }
  const session = await client.call('login', { body }, { maxRetries: 0 })
  begin(session)
  return session.user
}

/** Makes an account, and begins its session. */
export async function register(body: RequestOf<'register'>['body']): Promise<void> {
  begin(await client.call('register', { body }, { maxRetries: 0 }))
}

/** Ends all other sessions; this one goes on with the new token of the answer. */
export async function changePassword(body: RequestOf<'changePassword'>['body']): Promise<void> {
  begin(await call('changePassword', { body }, { maxRetries: 0 }))
}

/** Begins the session with the code of an OpenID log-in. `before` runs while nobody is logged in yet. */
export async function logInByCode(code: string, before: () => void): Promise<void> {
  const session = await client.call('oidcToken', { body: { code } }, { maxRetries: 0 })
  before()
  begin(session)
}

/** Ends the session at the gateway too; the browser forgets it in any case. */
export async function logOut(): Promise<void> {
  try {
    await client.call('logout', {}, { maxRetries: 0, timeoutMs: 5_000 })
  } catch {
    // Without the gateway, the token ends when it expires.
  }
  store(null)
  client.token = null
  drop()
}

/** Leaves an ended session behind, from the log-in over a page. */
export function forgetSession(): void {
  store(null)
  client.token = null
  drop()
}

/**
 * Calls an operation of the gateway. When the session has ended, the call waits until the same person has logged in again, and is then
 * made again.
 */
export async function call<Name extends ClientOperation>(
  name: Name,
  request: RequestOf<Name>,
  options: CallOptions = {},
): Promise<ResultOf<Name>> {
  return (await callWithHeaders(name, request, options)).data
}

export async function callWithHeaders<Name extends ClientOperation>(
  name: Name,
  request: RequestOf<Name>,
  options: CallOptions = {},
) {
  const args = [request, options] as unknown as CallArguments<Name>
  const begunIn = visit
  for (;;) {
    const used = client.token
    try {
      return await client.callWithHeaders(name, ...args)
    } catch (cause) {
      if (cause instanceof ApiError && cause.statusCode === PRECONDITION_FAILED) await readAgain()
      if (!(cause instanceof AuthenticationError) || OF_INPUT.has(cause.code)) throw cause
      if (visit !== begunIn) throw new LoggedOut('The session has ended.')
      // The person may have logged in again meanwhile.
      if (client.token === used) await loggedInAgain(options.signal)
    }
  }
}

async function loggedInAgain(signal: AbortSignal | undefined): Promise<void> {
  if (state === 'none') throw new LoggedOut('The session has ended.')
  if (state !== 'expired') change('expired')
  await new Promise<void>((resume, giveUp) => {
    const waiter: Waiter = { resume, giveUp }
    waiters.add(waiter)
    signal?.addEventListener(
      'abort',
      () => {
        waiters.delete(waiter)
        giveUp(signal.reason as Error)
      },
      { once: true },
    )
  })
}

/** The health of the gateway, which anybody may read. Rejects with an ApiError of status 503 while it serves nothing. */
export function readHealth(signal: AbortSignal) {
  return client.health.get({ signal, maxRetries: 0 })
}

/** Whether each part of the gateway works. Rejects with an ApiError of status 503 while one that is needed does not. */
export function readReadiness(signal: AbortSignal) {
  return client.health.ready({ signal, maxRetries: 0 })
}

/** Calls a tool as the person who is logged in. */
export function callTool(
  name: string,
  input: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<ToolResult> {
  return client.callTool(name, input, { signal, timeoutMs: TOOL_TIMEOUT_MS })
}
