import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'
import { dirname } from 'node:path'
import type { Machine } from './result.ts'

/** Describes the machine of the measurement. The load is the average of the last minute. */
export function machine(): Machine {
  const all = cpus()
  return {
    node: process.version,
    cpus: all.length,
    model: all[0]?.model ?? 'unknown',
    load: rounded(loadavg()[0] ?? 0),
    memoryMb: Math.round(totalmem() / 1024 / 1024),
  }
}

/** The commit of a checkout, with a note when its source has uncommitted changes. */
export function commitOf(folder: string): string {
  const git = (...args: string[]): string | null => {
    const { status, stdout } = spawnSync('git', args, { cwd: folder, encoding: 'utf8' })
    return status === 0 ? stdout.trim() : null
  }
  const commit = git('rev-parse', '--short', 'HEAD')
  if (commit === null) return 'unknown'
  return git('status', '--porcelain', '--', 'src', 'package-lock.json') === '' ? commit : `${commit} with changes`
}

export function writeReport(file: string, content: object): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify({ at: new Date().toISOString(), ...content }, null, 2)}\n`)
}

export function rounded(value: number): number {
  return Math.round(value * 100) / 100
}
