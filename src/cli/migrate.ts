import type { Command } from 'commander'
import { EXIT } from '../shared/core/exit-codes.ts'
import { migrate, pendingMigrations } from '../control/store/migrate.ts'
import { command, configOf } from './command.ts'
import type { CommandContext, CommonOptions } from './command.ts'
import { Progress } from './progress.ts'
import { withDatabase } from './with-database.ts'

export function addMigrate(program: Command, { output, ended }: CommandContext): void {
  command(program, 'migrate', 'bring the schema of the database up to date')
    .option('--check', 'only list the pending migrations; exit code 1 when there is one')
    .action(async (options: CommonOptions & { readonly check?: true }) => {
      const config = configOf(options)
      await withDatabase(config, output, async (database) => {
        const pending = await pendingMigrations(database)
        if (options.check === true) {
          for (const id of pending) output.line(`pending: ${id}`)
          if (pending.length === 0) output.line('The schema is up to date.')
          output.value({ pending })
          ended(pending.length === 0 ? EXIT.ok : EXIT.failure)
          return
        }
        const progress = new Progress('migrating', pending.length, output)
        try {
          const applied = await migrate(database, undefined, () => {
            progress.step()
          })
          progress.end()
          for (const id of applied) output.line(`applied: ${id}`)
          if (applied.length === 0) output.line('The schema is up to date.')
          output.value({ applied })
        } finally {
          progress.end()
        }
      })
    })
}
