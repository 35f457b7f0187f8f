import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { McpCaller } from '../../../src/control/mcp/callers.ts'
import { ListWatch } from '../../../src/control/mcp/list-watch.ts'
import type { McpSession } from '../../../src/control/mcp/sessions.ts'
import type { Tool } from '../../../src/control/mcp/tool-source.ts'
import type { Queryable } from '../../../src/control/store/database.ts'

const LOOK_MS = 1_000
const caller = { kind: 'user', subject: 'user:u', user: { userId: 'u' } } as unknown as McpCaller
const NO_RIGHTS = { query: () => Promise.resolve([]) } as unknown as Queryable

/** The names of the tools, and the version that they make: the same for the same tools. */
let names: readonly string[]
/** Called before a list is made. */
let onList: () => void
let told: number
let watch: ListWatch

const list = (): Promise<Tool[]> => {
  onList()
  return Promise.resolve(names.map((name) => ({ name }) as Tool))
}

beforeEach(() => {
  vi.useFakeTimers()
  names = ['find']
  onList = () => undefined
  told = 0
  const session = {
    subject: caller.subject,
    caller,
    listening: 1,
    isUntold: false,
    tellOfTools: () => {
      told += 1
    },
  } as McpSession
  watch = new ListWatch({
    database: NO_RIGHTS,
    sessions: { all: () => [session] },
    tools: { list },
    version: () => Promise.resolve(names.join()),
    onFault: (cause) => expect.fail(String(cause)),
  })
  watch.listed(caller.subject, [{ name: 'find' } as Tool])
})

afterEach(() => {
  watch.close()
  vi.useRealTimers()
})

it('tells of a change once, and of none while nothing changes', async () => {
  await vi.advanceTimersByTimeAsync(LOOK_MS)
  expect(told).toBe(0)
  names = ['find', 'read']
  await vi.advanceTimersByTimeAsync(3 * LOOK_MS)
  expect(told).toBe(1)
})

it('makes no list while the version stays', async () => {
  let lists = 0
  onList = () => {
    lists += 1
  }
  await vi.advanceTimersByTimeAsync(5 * LOOK_MS)
  expect(lists).toBe(1)
})

it('tells of a change that is undone, though it came between the version and the list', async () => {
  onList = () => {
    names = []
  }
  await vi.advanceTimersByTimeAsync(LOOK_MS)
  expect(told).toBe(1)
  onList = () => undefined
  names = ['find']
  await vi.advanceTimersByTimeAsync(LOOK_MS)
  expect(told).toBe(2)
})

it('tells of a change that is undone, when a client got its list between the two', async () => {
  await vi.advanceTimersByTimeAsync(LOOK_MS)
  watch.listed(caller.subject, [{ name: 'find' }, { name: 'read' }] as Tool[])
  await vi.advanceTimersByTimeAsync(LOOK_MS)
  expect(told).toBe(1)
  watch.listed(caller.subject, [{ name: 'find' } as Tool])
  await vi.advanceTimersByTimeAsync(3 * LOOK_MS)
  expect(told).toBe(1)
})

it('tells of a list that a client got while the watch made another', async () => {
  onList = () => {
    watch.listed(caller.subject, [{ name: 'find' }, { name: 'read' }] as Tool[])
  }
  await vi.advanceTimersByTimeAsync(LOOK_MS)
  expect(told).toBe(1)
})
