import { UsageError } from '../shared/config/config-error.ts'
import { secretsOf } from '../control/store/secrets-check.ts'
import { ClientKeys } from './client-keys.ts'
import { configOf } from './command.ts'
import type { CommonOptions } from './command.ts'
import type { KeysBackend, WhoseKeys } from './keys-backend.ts'
import type { Output } from './output.ts'
import { clientFor } from './remote.ts'
import { requireSchema, withDatabase } from './with-database.ts'

/** Calls `work` with the backend that the options choose. Throws UsageError for options that exclude each other. */
export async function withKeys<T>(
  options: CommonOptions & WhoseKeys,
  output: Output,
  work: (backend: KeysBackend) => Promise<T>,
): Promise<T> {
  const { url, remote, user, enterprise } = options
  if (user !== undefined && enterprise !== undefined) throw new UsageError('give --user or --enterprise, not both')
  if (url !== undefined || remote === true) {
    if (user !== undefined) throw new UsageError('through a gateway, the keys are those of its login: leave --user out')
    return work(new ClientKeys(clientFor(url), enterprise ?? null))
  }
  const config = configOf(options)
  return withDatabase(config, output, async (database) => {
    await requireSchema(database)
    const { DatabaseKeys } = await import('./database-keys.ts')
    const { keyHash } = await secretsOf(database, config.dataDir, process.env)
    return work(await DatabaseKeys.of(database, { user, enterprise }, keyHash))
  })
}
