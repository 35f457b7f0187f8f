import type { Command } from 'commander'
import { readConfig } from '../shared/config/config.ts'
import type { Config } from '../shared/config/shape.ts'
import type { EXIT } from '../shared/core/exit-codes.ts'
import type { Output } from './output.ts'

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export interface CommandContext {
  readonly output: Output
  readonly ended: (code: ExitCode) => void
}

export interface CommonOptions {
  readonly config?: string
}

/** Adds a command with the options that all commands share. */
export function command(parent: Command, nameAndArguments: string, description: string): Command {
  return parent
    .command(nameAndArguments)
    .description(description)
    .option('--config <file>', 'the configuration file (default: ./sluice.yaml, if it exists)')
    .option('--json', 'print the result as JSON')
    .allowExcessArguments(false)
}

/** The common options as command-line arguments. */
export function configArguments({ config }: CommonOptions): string[] {
  return config === undefined ? [] : ['--config', config]
}

/** Reads the configuration and writes no file. Throws ConfigError. */
export function configOf(options: CommonOptions): Config {
  return readConfig({ env: process.env, argv: configArguments(options) })
}
