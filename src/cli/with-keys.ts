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

/** Calls `work` with the backend that the options choose. Throws UsageError for options that exclude each other. */
export async function withKeys<T>(
  options: CommonOptions & WhoseKeys,
  output: Output,
  work: (backend: KeysBackend) => Promise<T>,
): Promise<T> {
  const { url, user, enterprise } = options
  if (user !== undefined && enterprise !== undefined) throw new UsageError('give --user or --enterprise, not both')
  if (url !== undefined) {
    if (user !== undefined) throw new UsageError('--url uses the keys of the token in SLUICE_TOKEN: leave --user out')
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
  if (token === undefined || token === '')
    throw new UsageError(`set ${TOKEN} to the token that POST /api/auth/login returned`)
  try {
    return new SluiceClient({ baseUrl: url, token })
  } catch {
    throw new UsageError(`--url ${url} is not a URL that begins with http:// or https://`)
  }
}
