import { SluiceClient } from '../client/client.ts'
import { UsageError } from '../shared/config/config-error.ts'
import { secretsOf } from '../control/store/secrets-check.ts'
import { ClientKeys } from './client-keys.ts'
import { configOf } from './command.ts'
import type { CommonOptions } from './command.ts'
import type { KeysBackend, WhoseKeys } from './keys-backend.ts'
import type { Output } from './output.ts'
import { requireSchema, withDatabase } from './with-database.ts'

const TOKEN = 'SLUICE_TOKEN'

/** Throws UsageError for options that do not go together. */
export async function withKeys<T>(
  options: CommonOptions & WhoseKeys,
  output: Output,
  work: (door: KeysBackend) => Promise<T>,
): Promise<T> {
  const { url, user, enterprise } = options
  if (user !== undefined && enterprise !== undefined) throw new UsageError('give --user or --enterprise, not both')
  if (url !== undefined) {
    if (user !== undefined) throw new UsageError('with --url the keys are those of the token: --user is not for that')
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

function clientFor(url: string): SluiceClient {
  const token = process.env[TOKEN]
  if (token === undefined || token === '') throw new UsageError(`set ${TOKEN} to what a login has answered`)
  try {
    return new SluiceClient({ baseUrl: url, token })
  } catch {
    throw new UsageError(`--url ${url} is not an address that begins with http:// or https://`)
  }
}
