import type { Command } from 'commander'
import { loadOrCreateSecrets } from '../shared/config/secrets.ts'
import { adoptSecrets } from '../control/store/secrets-check.ts'
import { command, configOf } from './command.ts'
import type { CommandContext, CommonOptions } from './command.ts'
import { requireSchema, withDatabase } from './with-database.ts'

export function addAdoptSecrets(program: Command, { output }: CommandContext): void {
  command(
    program,
    'adopt-secrets',
    'accept new secrets when the old ones are lost; existing keys and stored upstream credentials stop working',
  ).action(async (options: CommonOptions) => {
    const config = configOf(options)
    await withDatabase(config, output, async (database) => {
      await requireSchema(database)
      await adoptSecrets(database, loadOrCreateSecrets(config.dataDir, process.env))
    })
    output.line('adopted the new secrets: create new entry keys, and set the credentials of stored upstreams again')
    output.value({ adopted: true })
  })
}
