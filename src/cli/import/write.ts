import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { readConfig } from '../../shared/config/config.ts'
import { ConfigError, UsageError } from '../../shared/config/config-error.ts'
import { toYaml } from '../../shared/config/document.ts'
import { EXIT } from '../../shared/core/exit-codes.ts'
import type { CommandContext } from '../command.ts'
import type { DraftConfig, Remark, Remarks } from './draft.ts'

export interface WriteOptions {
  readonly output: string
  readonly force?: true
}

const REFERENCE = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(:-)?[^}]*\}/g

/** Throws UsageError when the file exists and may not be replaced. Call it before the source is read. */
export function checkTarget({ output, force }: WriteOptions): void {
  if (existsSync(output) && force !== true) {
    throw new UsageError(`${output} exists; --force replaces it, --output names another file`)
  }
}

/**
 * Writes the configuration, which only its owner may read, and prints what became of the source. Ends with exit code 1 when the
 * gateway would refuse the file.
 */
export function writeImport(
  draft: DraftConfig,
  { remarks, from, target }: { remarks: Remarks; from: string; target: WriteOptions },
  { output, ended }: CommandContext,
): void {
  const text = `# Written by "sluice import" from ${from}.\n${toYaml(draft)}`
  // A new file: the mode of an existing one would stay.
  rmSync(target.output, { force: true })
  writeFileSync(target.output, text, { mode: 0o600 })
  const counts = countsOf(draft)
  const variables = variablesOf(text)
  const missing = variables.filter((name) => (process.env[name] ?? '') === '')
  const problem = missing.length > 0 ? null : problemOf(target.output)
  output.line(`wrote ${target.output}: ${counts.map(([what, count]) => `${count} ${what}`).join(', ')}`)
  tell('changed', remarks.changed)
  tell('not carried', remarks.lost)
  if (variables.length > 0) output.line(`The file reads these environment variables: ${variables.join(', ')}`)
  if (missing.length > 0) output.line(`Set ${missing.join(', ')}, then run sluice doctor --config ${target.output}`)
  if (problem !== null) output.line(`The gateway refuses this file. ${problem}`)
  output.value({
    file: resolve(target.output),
    counts: Object.fromEntries(counts),
    changed: remarks.changed,
    not_carried: remarks.lost,
    variables,
    missing_variables: missing,
    problem,
  })
  ended(problem === null ? EXIT.ok : EXIT.failure)

  function tell(what: string, list: readonly Remark[]): void {
    if (list.length === 0) return
    output.line(`${what} (${list.length}):`)
    for (const { path, reason } of list) output.line(`  ${path}: ${reason}`)
  }
}

function countsOf({ upstreams, fallbacks, ...rest }: DraftConfig): Array<[what: string, count: number]> {
  const ids = new Set(upstreams.flatMap(({ models }) => models.map(({ id }) => id)))
  const counts: Array<[string, number]> = [
    ['upstreams', upstreams.length],
    ['upstream keys', upstreams.reduce((sum, { keys }) => sum + keys.length, 0)],
    ['models', ids.size],
    ['fallbacks', Object.keys(fallbacks ?? {}).length],
    ['entry keys', Array.isArray(rest['keys']) ? rest['keys'].length : 0],
  ]
  return counts.filter(([what, count]) => count > 0 || what === 'upstreams')
}

/** The environment variables without a default that the file names, each once. */
function variablesOf(text: string): string[] {
  const names = [...text.matchAll(REFERENCE)].flatMap(([, name, isOptional]) =>
    name === undefined || isOptional !== undefined ? [] : [name],
  )
  return [...new Set(names)].sort()
}

/** The error with which the gateway would refuse the file; null when it would accept it. */
function problemOf(file: string): string | null {
  try {
    readConfig({ env: process.env, argv: ['--config', file] })
    return null
  } catch (cause) {
    if (cause instanceof ConfigError) return cause.message
    throw cause
  }
}
