import type { Command } from 'commander'
import { runSupervisor } from '../supervisor/run.ts'
import { command, configArguments } from './command.ts'
import type { CommandContext, CommonOptions } from './command.ts'

/** The supervisor sets the exit code when it ends, after this command. */
export function addStart(program: Command, _: CommandContext): void {
  command(program, 'start', 'start the gateway; SIGTERM stops it').action(async (options: CommonOptions) => {
    await runSupervisor(configArguments(options))
  })
}
