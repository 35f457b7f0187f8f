import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { dirname } from 'node:path'

/** Describes the machine of the measurement. The load is the average of the last minute. */
export function machine(): object {
  return { node: process.version, cpus: cpus().length, model: cpus()[0]?.model, load: loadavg()[0] }
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
