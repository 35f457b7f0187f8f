import { Command, CommanderError } from 'commander'
import { ownVersion } from '../shared/config/own-version.ts'
import { EXIT } from '../shared/core/exit-codes.ts'
import { addAdoptSecrets } from './adopt-secrets.ts'
import { addBench } from './bench.ts'
import type { ExitCode } from './command.ts'
import { addCreateAdmin } from './create-admin.ts'
import { addDoctor } from './doctor.ts'
import { failed } from './failures.ts'
import { addImport } from './import.ts'
import { addKeys } from './keys.ts'
import { addLogin, addLogout } from './login.ts'
import { addMcp } from './mcp.ts'
import { addMigrate } from './migrate.ts'
import { Output } from './output.ts'
import { addReconcile } from './reconcile.ts'
import { addStart } from './start.ts'

const EXIT_CODES = `
Exit codes: ${EXIT.ok} success, ${EXIT.failure} the command failed or found a fault, ${EXIT.usage} wrong usage: nothing was done.`

/** Runs one command. Resolves to the exit code, after all output; never rejects. */
export async function main(argv: readonly string[]): Promise<ExitCode> {
  const output = new Output(argv.includes('--json'))
  let code: ExitCode = EXIT.ok
  const program = new Command('sluice')
    .description('An AI model gateway.')
    .version(ownVersion())
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .addHelpText('after', EXIT_CODES)
  const context = {
    output,
    ended: (ended: ExitCode): void => {
      code = ended
    },
  }
  for (const add of [
    addStart,
    addMigrate,
    addCreateAdmin,
    addKeys,
    addReconcile,
    addDoctor,
    addImport,
    addMcp,
    addLogin,
    addLogout,
    addAdoptSecrets,
    addBench,
  ]) {
    add(program, context)
  }
  try {
    await program.parseAsync(argv, { from: 'user' })
    return code
  } catch (cause) {
    // Commander throws after `--help` and `--version` too.
    if (cause instanceof CommanderError && cause.exitCode === 0) return EXIT.ok
    return failed(output, cause)
  }
}
