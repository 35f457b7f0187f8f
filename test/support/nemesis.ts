import { readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { eventually } from './eventually.ts'
import type { TestGateway } from './gateway.ts'
import type { Fate } from './load.ts'

/** The death of a process that may have held connections of clients. */
export interface Kill {
  readonly victim: 'front' | 'control' | 'supervisor'
  /** Time just before the signal. */
  readonly atMs: number
  /** Time when the process and its listening socket were gone. */
  readonly goneAtMs: number
  /** Client ports of the connections that the process had accepted just before; null: not known, it may be any. */
  readonly clientPorts: ReadonlySet<number> | null
}

/** Pseudo-random numbers in [0, 1), determined by the seed. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Kills one process under the supervisor with SIGKILL and waits for its end. */
export async function killChild(gateway: TestGateway, victim: 'front' | 'control', pid: number): Promise<Kill> {
  const clientPorts = new Set(victim === 'front' ? connectionsOf(pid, gateway.port) : [])
  const listeners = socketInodes(pid)
  const atMs = Date.now()
  process.kill(pid, 'SIGKILL')
  await eventually(() => {
    expectGone(gateway, pid, listeners)
  })
  return { victim, atMs, goneAtMs: Date.now(), clientPorts }
}

/**
 * Makes a process under the supervisor end itself, and waits for its end.
 *
 * @param arm tells the process to end itself; it may end later
 * @param diedAtMs called after its end
 */
export async function awaitSuicide(
  gateway: TestGateway,
  victim: { readonly kind: 'front' | 'control'; readonly pid: number },
  arm: () => void,
  diedAtMs: () => number,
): Promise<Kill> {
  const { kind, pid } = victim
  const clientPorts = new Set<number>()
  const listeners = new Set(socketInodes(pid))
  arm()
  await eventually(
    () => {
      if (kind === 'front') for (const port of connectionsOf(pid, gateway.port)) clientPorts.add(port)
      for (const inode of socketInodes(pid)) listeners.add(inode)
      expectGone(gateway, pid, listeners)
    },
    { timeoutMs: 60_000 },
  )
  return { victim: kind, atMs: diedAtMs(), goneAtMs: Date.now(), clientPorts }
}

function expectGone(gateway: TestGateway, pid: number, listeners: ReadonlySet<string>): void {
  if (gateway.children().some((child) => child.pid === pid)) throw new Error(`process ${pid} is still there`)
  // The kernel closes its sockets with its last thread, which may be later; until then it still gets connections.
  if (hasSocket(LISTEN, gateway.port, listeners)) throw new Error(`the sockets of process ${pid} are still there`)
}

/**
 * Whether a kill explains the failure of a request. It does for a connection that the process had accepted (a client may
 * send before it reads the end of the connection), and for a connection without an answer yet that was made before the process
 * was gone. No kill explains a timeout or a complete answer.
 */
export function explains(kill: Kill, fate: Fate): boolean {
  if (kill.victim === 'control' || fate.outcome !== 'broken' || fate.endedAtMs < kill.atMs) return false
  const { connection } = fate
  if (kill.clientPorts === null || connection === null) return fate.startedAtMs <= kill.goneAtMs
  if (connection.openedAtMs > kill.goneAtMs) return false
  const isUnanswered = connection.firstAnswerAtMs === null || connection.firstAnswerAtMs >= kill.atMs
  return kill.clientPorts.has(connection.localPort) || (isUnanswered && fate.startedAtMs <= kill.goneAtMs)
}

/** Waits until `fronts` fronts listen and a control process answers. */
export async function recovered(gateway: TestGateway, fronts: number): Promise<void> {
  await eventually(
    async () => {
      const listening = gateway.children().filter(({ kind, pid }) => kind === 'front' && isListening(pid, gateway.port))
      if (listening.length < fronts) throw new Error(`${listening.length} fronts listen:\n${tail(gateway.output)}`)
      const response = await fetch(`${gateway.url}/v1/admin/logs`)
      await response.arrayBuffer()
      if (response.status !== 401) throw new Error(`management answers ${response.status}:\n${tail(gateway.output)}`)
    },
    { timeoutMs: 120_000, everyMs: 100 },
  )
}

/** The kernel returns the socket table page by page and may skip entries that move meanwhile: several reads find all. */
const LOOKS = 4

/** Client ports of the connections that a process has accepted. */
export function connectionsOf(pid: number, port: number): number[] {
  const inodes = socketInodes(pid)
  return Array.from({ length: LOOKS }, tcpTable)
    .flat()
    .filter((entry) => entry.localPort === port && entry.state === ESTABLISHED && inodes.has(entry.inode))
    .map(({ remotePort }) => remotePort)
}

function isListening(pid: number, port: number): boolean {
  return hasSocket(LISTEN, port, socketInodes(pid))
}

function hasSocket(state: string, port: number, inodes: ReadonlySet<string>): boolean {
  return tcpTable().some((entry) => entry.localPort === port && entry.state === state && inodes.has(entry.inode))
}

const ESTABLISHED = '01'
const LISTEN = '0A'

function tcpTable(): Array<{ localPort: number; remotePort: number; state: string; inode: string }> {
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, local = '', remote = '', state = '', , , , , , inode = ''] = line.trim().split(/\s+/)
      return state === '' ? [] : [{ localPort: portOf(local), remotePort: portOf(remote), state, inode }]
    })
}

function portOf(address: string): number {
  return parseInt(address.slice(address.indexOf(':') + 1), 16)
}

function socketInodes(pid: number): Set<string> {
  const inodes = new Set<string>()
  try {
    for (const fd of readdirSync(`/proc/${pid}/fd`)) {
      const inode = /^socket:\[(\d+)\]$/.exec(readlinkIfPresent(`/proc/${pid}/fd/${fd}`))?.[1]
      if (inode !== undefined) inodes.add(inode)
    }
  } catch {
    // The process has just ended.
  }
  return inodes
}

function readlinkIfPresent(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

function tail(text: string): string {
  return text.slice(-2_000)
}
