import type { Command } from 'commander'
import { runSupervisor } from '../supervisor/run.ts'
import { command, configArguments } from './command.ts'
import type { CommandContext, CommonOptions } from './command.ts'

/** The exit code is the supervisor's, which ends later. */
export function addStart(program: Command, _: CommandContext): void {
  command(program, 'start', 'start the gateway, and end it on SIGTERM').action(async (options: CommonOptions) => {
    await runSupervisor(configArguments(options))
  })
}
