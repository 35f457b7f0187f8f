import { readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { eventually } from './eventually.ts'
import type { TestGateway } from './gateway.ts'
import type { Fate } from './load.ts'

/** The death of a process that may have held connections of clients. */
export interface Kill {
  readonly victim: 'front' | 'control' | 'supervisor'
  /** Just before the signal. */
  readonly atMs: number
  /** When the process and its listening socket were seen to be gone. */
  readonly goneAtMs: number
  /** Ports, on the clients' side, of the connections it had accepted just before; null: any may have been its own. */
  readonly clientPorts: ReadonlySet<number> | null
}

/** Numbers in [0, 1) that are the same for the same seed. */
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
 * Has a process under the supervisor end itself, and waits for its end.
 *
 * @param arm makes it do so, sooner or later
 * @param diedAtMs asked once it is gone
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
  // Its sockets go with the last of its threads, which may be after the first: until then it is given connections.
  if (hasSocket(LISTEN, gateway.port, listeners)) throw new Error(`the sockets of process ${pid} are still there`)
}

/**
 * Whether the death of a process explains the failure of a request: it was on a connection that the process had accepted
 * (a client may send before it reads that the connection is gone), or on one that nobody had answered on yet, made before
 * the process was gone. Time-outs and whole answers are explained by no death.
 */
export function explains(kill: Kill, fate: Fate): boolean {
  if (kill.victim === 'control' || fate.outcome !== 'broken' || fate.endedAtMs < kill.atMs) return false
  const { connection } = fate
  if (kill.clientPorts === null || connection === null) return fate.startedAtMs <= kill.goneAtMs
  if (connection.openedAtMs > kill.goneAtMs) return false
  const isUnanswered = connection.firstAnswerAtMs === null || connection.firstAnswerAtMs >= kill.atMs
  return kill.clientPorts.has(connection.localPort) || (isUnanswered && fate.startedAtMs <= kill.goneAtMs)
}

/** Resolves when as many fronts as there should be listen, and a control process answers behind them. */
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

/** The kernel gives the table out page by page, and what moves meanwhile may be missing: several looks see it all. */
const LOOKS = 4

/** Ports, on the clients' side, of the connections that a process has accepted. */
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
    // It has just ended.
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
