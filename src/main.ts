import { UsageError } from './shared/config/config-error.ts'
import { EXIT } from './shared/core/exit-codes.ts'

/** A package that a build does not contain, and that no front starts without. */
const PACKAGE = 'piscina'

async function start(): Promise<void> {
  // Throws here when packages are not installed: the supervisor needs none, and would start processes that end at once, for ever.
  import.meta.resolve(PACKAGE)
  const { runSupervisor } = await import('./supervisor/run.ts')
  await runSupervisor(process.argv.slice(2))
}

start().catch((cause: unknown) => {
  process.stderr.write(`sluice: ${cause instanceof Error ? cause.message : String(cause)}\n`)
  process.exitCode = cause instanceof UsageError ? EXIT.usage : EXIT.failure
})
