import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { USERS } from '../api/operations/users.ts'
import { hashPassword } from '../management/passwords.ts'
import { normalisePhone } from '../management/phone.ts'
import type { Database } from '../store/database.ts'
import { findUserByPhone, insertUser, updateUser } from '../store/users.ts'
import { OperationValidator } from '../validation/operation-validator.ts'
import { command, configOf } from './command.ts'
import type { CommandContext, CommonOptions } from './command.ts'
import { readPassword } from './password.ts'
import { requireSchema, withDatabase } from './with-database.ts'

const VARIABLE = 'SLUICE_ADMIN_PASSWORD'

interface AdminOptions extends CommonOptions {
  readonly phone: string
  readonly name: string
  readonly passwordStdin?: true
  readonly replace?: true
}

export function addCreateAdmin(program: Command, { output }: CommandContext): void {
  command(program, 'create-admin', `make a platform admin; the password is read from ${VARIABLE} or asked for`)
    .requiredOption('--phone <number>', 'with its country code, like +12025550100')
    .option('--name <name>', 'of the admin', 'Administrator')
    .option('--password-stdin', 'read the password from standard input')
    .option('--replace', 'make a user who is there already an admin, with this password')
    .action(async (options: AdminOptions) => {
      const config = configOf(options)
      const phone = normalisePhone(options.phone)
      const password = await readPassword(VARIABLE, options.passwordStdin === true)
      new OperationValidator().body(USERS.adminCreateUser, { phone, name: options.name, password, role: 'admin' })
      const made = await withDatabase(config, output, async (database) => {
        await requireSchema(database)
        return makeAdmin(database, { phone, name: options.name, password, replace: options.replace === true })
      })
      output.line(`${made.isNew ? 'made' : 'changed'}: admin ${phone} (${made.id})`)
      output.value({ id: made.id, phone, created: made.isNew })
    })
}

async function makeAdmin(
  database: Database,
  { phone, name, password, replace }: { phone: string; name: string; password: string; replace: boolean },
): Promise<{ readonly id: string; readonly isNew: boolean }> {
  const passwordHash = await hashPassword(password)
  const known = await findUserByPhone(database, phone)
  if (known === null) {
    const id = `user_${randomUUID()}`
    await insertUser(database, { id, phone, name, passwordHash, role: 'admin', status: 'active' })
    return { id, isNew: true }
  }
  if (!replace) throw new Error(`there is a user with the number ${phone} already; --replace makes that user an admin`)
  await updateUser(database, known.id, { role: 'admin', status: 'active', passwordHash })
  return { id: known.id, isNew: false }
}
