import { createHash } from 'node:crypto'
import { repeat } from '../../shared/runtime/repeat.ts'
import type { Queryable } from '../store/database.ts'
import { findEntryKey } from '../store/entry-keys.ts'
import { toolRightsVersions } from '../store/tool-rights.ts'
import type { McpCaller } from './callers.ts'
import type { McpSession, McpSessions } from './sessions.ts'
import type { Tool } from './tool-source.ts'
import type { Tools } from './tools.ts'

export interface ListWatchOptions {
  readonly database: Queryable
  readonly sessions: Pick<McpSessions, 'all'>
  readonly tools: Pick<Tools, 'list'>
  /** Changes with each change of an upstream server, or of what is known of its tools. */
  readonly version: () => Promise<string>
  readonly onFault: (cause: unknown) => void
}

interface Known {
  /** The version of all that the list follows from. While it stays, the list is not made again. Null: not looked at yet. */
  readonly from: string | null
  readonly digest: string
}

/** In place of a digest: no list has it. */
const MIXED = ''
const EVERY_MS = 1_000
const MAX_KNOWN = 10_000

/**
 * Tells clients that listen when the tools that they may use have changed: at most once a second, with two statements for all of them
 * while nothing changes.
 */
export class ListWatch {
  readonly #options: ListWatchOptions
  /** By subject: all sessions of a user or key have the same tools. */
  readonly #known = new Map<string, Known>()
  readonly #timer: NodeJS.Timeout
  #isLooking = false

  constructor(options: ListWatchOptions) {
    this.#options = options
    const look = (): void => {
      this.#look().catch(options.onFault)
    }
    this.#timer = repeat(EVERY_MS, look, options.onFault).unref()
  }

  /** A client has got this list. */
  listed(subject: string, tools: readonly Tool[]): void {
    const known = this.#known.get(subject)
    if (known === undefined && this.#known.size >= MAX_KNOWN) return
    const digest = digestOf(tools)
    if (known?.digest === digest) return
    // The clients of this subject have different lists, and the version may be that of the older one: all of them are told.
    this.#known.set(subject, { from: null, digest: known === undefined ? digest : MIXED })
  }

  close(): void {
    clearInterval(this.#timer)
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    try {
      const sessions = this.#options.sessions.all()
      const held = new Set(sessions.map(({ subject }) => subject))
      for (const subject of this.#known.keys()) if (!held.has(subject)) this.#known.delete(subject)
      const subjects = bySubject(sessions)
      for (const [subject, own] of subjects) if (!own.some(listens)) subjects.delete(subject)
      await this.#lookAt(subjects)
      for (const session of [...subjects.values()].flat()) {
        if (!session.isUntold || !listens(session)) continue
        session.isUntold = false
        session.tellOfTools()
      }
    } finally {
      this.#isLooking = false
    }
  }

  /** Notes whose tools have changed. */
  async #lookAt(subjects: ReadonlyMap<string, readonly McpSession[]>): Promise<void> {
    if (subjects.size === 0) return
    const callers = [...subjects.values()].flatMap(([first]) => (first === undefined ? [] : [first.caller]))
    const versions = await this.#versionsFor(callers)
    const due = callers.filter(({ subject }) => this.#known.get(subject)?.from !== versions.get(subject))
    if (due.length === 0) return
    const made = new Map<string, Known>()
    for (const caller of due) {
      const { subject } = caller
      const digest = digestOf(await this.#options.tools.list(await this.#asOfNow(caller)))
      // A client may have got a list meanwhile.
      const before = this.#known.get(subject)
      const known = { from: null, digest }
      made.set(subject, known)
      this.#known.set(subject, known)
      if (before === undefined || before.digest === digest) continue
      for (const session of subjects.get(subject) ?? []) session.isUntold = true
    }
    // The version is the same again when a change is undone: a list that was made beside another version would never be made again.
    const after = await this.#versionsFor(due)
    for (const [subject, from] of after) {
      const known = made.get(subject)
      const isCurrent = known !== undefined && this.#known.get(subject) === known
      if (isCurrent && from === versions.get(subject)) this.#known.set(subject, { ...known, from })
    }
  }

  /** The version of all that the list of a caller follows from, by subject. */
  async #versionsFor(callers: readonly McpCaller[]): Promise<ReadonlyMap<string, string>> {
    const { version, database } = this.#options
    const shared = await version()
    const rights = await toolRightsVersions(database, {
      userIds: callers.flatMap((caller) => (caller.kind === 'user' ? [caller.user.userId] : [])),
      keyIds: callers.flatMap((caller) => (caller.kind === 'key' ? [caller.key.id] : [])),
    })
    return new Map(callers.map(({ subject }) => [subject, `${shared} ${rights.get(subject) ?? ''}`]))
  }

  /** The caller of a session is as it was at its newest message. */
  async #asOfNow(caller: McpCaller): Promise<McpCaller> {
    if (caller.kind === 'user') return caller
    const key = await findEntryKey(this.#options.database, caller.key.digest)
    return key === null ? caller : { ...caller, key }
  }
}

const listens = ({ listening }: McpSession): boolean => listening > 0

function digestOf(tools: readonly Tool[]): string {
  return createHash('sha256').update(JSON.stringify(tools)).digest('base64')
}

function bySubject(sessions: readonly McpSession[]): Map<string, McpSession[]> {
  const subjects = new Map<string, McpSession[]>()
  for (const session of sessions) {
    const own = subjects.get(session.subject)
    if (own === undefined) subjects.set(session.subject, [session])
    else own.push(session)
  }
  return subjects
}
