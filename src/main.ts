import { UsageError } from './shared/config/config-error.ts'
import { EXIT } from './shared/core/exit-codes.ts'

/** A package that a build does not contain, and that no front starts without. */
const PACKAGE = 'piscina'

// Looked for here, packages that are not installed are one line as well.
Promise.resolve(PACKAGE)
  .then((name) => import.meta.resolve(name))
  .then(() => import('./supervisor/run.ts'))
  .then(({ runSupervisor }) => runSupervisor(process.argv.slice(2)))
  .catch((cause: unknown) => {
    process.stderr.write(`sluice: ${cause instanceof Error ? cause.message : String(cause)}\n`)
    process.exitCode = cause instanceof UsageError ? EXIT.usage : EXIT.failure
  })
