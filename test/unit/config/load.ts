import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { ConfigError } from '../../../src/shared/config/config-error.ts'
import { readConfig } from '../../../src/shared/config/config.ts'
import type { Config } from '../../../src/shared/config/shape.ts'

export interface Setting {
  readonly yaml?: string
  readonly env?: Record<string, string>
  readonly argv?: readonly string[]
  readonly files?: Record<string, string>
}

/** A directory of this test alone, gone when it ends. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-config-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** Reads a configuration in a directory of its own that holds `sluice.yaml` and `files`, on a machine of four cores. */
export function read({ yaml, env = {}, argv = [], files = {} }: Setting): Config {
  const cwd = temporaryDirectory()
  if (yaml !== undefined) writeFileSync(join(cwd, 'sluice.yaml'), yaml)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text)
  return readConfig({ env, argv, cwd, cores: 4 })
}

/** The error that reading ends in. */
export function readError(setting: Setting): ConfigError {
  try {
    read(setting)
  } catch (cause) {
    if (cause instanceof ConfigError) return cause.problems[0] ?? cause
    throw cause
  }
  throw new Error('the configuration was accepted')
}
