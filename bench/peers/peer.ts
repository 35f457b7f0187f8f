import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as elapsed } from 'node:timers/promises'
import { endWithThisProcess } from '../../src/cli/bench/end-with-this-process.ts'
import type { LoadTarget } from '../support/load-client.ts'

/** A program that the bench measures. */
export interface Peer extends LoadTarget {
  readonly name: string
  readonly version: string
  /** The processes that it consists of, with their descendants. */
  readonly pids: readonly number[]
  /** The path for requests of the messages protocol to an upstream of the chat protocol; null: it does not translate. */
  readonly messages: LoadTarget | null
  /** Resolves when all work after the answers is done. @param requestId that of the last answer */
  settled(requestId: string): Promise<void>
  stop(): Promise<void>
}

/** Starting takes some seconds; on a machine with other load, a Python program takes more than a minute. */
const START_MS = 180_000
const STOP_MS = 10_000
const POLL_MS = 100
const KEPT_OUTPUT = 4_000

/** Every connection but those of the loopback address goes to a port without a listener. */
const NO_OUTSIDE = {
  http_proxy: 'http://127.0.0.1:9',
  https_proxy: 'http://127.0.0.1:9',
  HTTP_PROXY: 'http://127.0.0.1:9',
  HTTPS_PROXY: 'http://127.0.0.1:9',
  no_proxy: '127.0.0.1,localhost',
  NO_PROXY: '127.0.0.1,localhost',
}

export interface PeerProcess {
  readonly pid: number
  stop(): Promise<void>
}

export interface ProcessPlan {
  readonly command: string
  /** @param home an empty directory, deleted at the end */
  readonly args: (home: string) => readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** It is ready when this URL answers with any status below 500. */
  readonly readyUrl: string
  readonly readyHeaders?: Readonly<Record<string, string>>
}

/**
 * Starts a program with an environment of its own: no variable of this shell reaches it, and its home is a new directory.
 * Rejects with the end of its output when it ends, or when it is not ready in three minutes.
 */
export async function startProcess(plan: ProcessPlan): Promise<PeerProcess> {
  const home = mkdtempSync(join(tmpdir(), 'sluice-peer-'))
  const child = spawn(plan.command, plan.args(home), {
    cwd: home,
    env: { PATH: process.env['PATH'] ?? '', HOME: home, ...(isIsolated() ? {} : NO_OUTSIDE), ...plan.env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  endWithThisProcess(child, 'KILL', home)
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-KEPT_OUTPUT)
  })
  child.on('error', (cause) => {
    output += cause.message
  })
  const stop = async (): Promise<void> => {
    await end(child)
    rmSync(home, { recursive: true, force: true })
  }
  if (!(await isReady(child, plan))) {
    await stop()
    throw new Error(`${plan.command} did not start:\n${output}`)
  }
  return { pid: child.pid ?? 0, stop }
}

async function isReady(child: ChildProcess, { readyUrl, readyHeaders = {} }: ProcessPlan): Promise<boolean> {
  const endMs = Date.now() + START_MS
  while (Date.now() < endMs && child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
    const signal = AbortSignal.timeout(STOP_MS)
    const answer = await fetch(readyUrl, { headers: readyHeaders, signal }).catch(() => null)
    await answer?.arrayBuffer()
    if (answer !== null && answer.status < 500) return true
    await elapsed(POLL_MS)
  }
  return false
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await exited
  clearTimeout(late)
}

export const ISOLATED = 'SLUICE_PEERS_ISOLATED'

/** Whether this process is in a network that has nothing but a loopback address. */
export function isIsolated(): boolean {
  return process.env[ISOLATED] === 'yes'
}
