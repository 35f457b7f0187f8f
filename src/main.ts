import { UsageError } from './shared/config/config-error.ts'
import { EXIT } from './shared/core/exit-codes.ts'

// Imported here, a package that is not installed is one line as well.
import('./supervisor/run.ts')
  .then(({ runSupervisor }) => runSupervisor(process.argv.slice(2)))
  .catch((cause: unknown) => {
    process.stderr.write(`sluice: ${cause instanceof Error ? cause.message : String(cause)}\n`)
    process.exitCode = cause instanceof UsageError ? EXIT.usage : EXIT.failure
  })
