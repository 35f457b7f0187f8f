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
    'go on with new secrets where the old ones are lost: keys, and credentials that are stored, work no more',
  ).action(async (options: CommonOptions) => {
    const config = configOf(options)
    await withDatabase(config, output, async (database) => {
      await requireSchema(database)
      await adoptSecrets(database, loadOrCreateSecrets(config.dataDir, process.env))
    })
    output.line('adopted: make new entry keys, and give stored upstreams their credentials again')
    output.value({ adopted: true })
  })
}
