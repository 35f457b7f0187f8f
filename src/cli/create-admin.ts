import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { USERS } from '../shared/api/operations/users.ts'
import { changedFields } from '../control/management/audit-changes.ts'
import { hashPassword } from '../control/management/passwords.ts'
import { normalisePhone } from '../control/management/phone.ts'
import { insertAuditEntry } from '../control/store/audit-log.ts'
import type { Queryable } from '../control/store/database.ts'
import { dropMailedTokens } from '../control/store/mailed-tokens.ts'
import { removeTotp } from '../control/store/totp.ts'
import { findUserByPhone, insertUser, updateUser } from '../control/store/users.ts'
import { OperationValidator } from '../control/management/operation-validator.ts'
import { BY_OPERATOR } from './by-operator.ts'
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
  command(program, 'create-admin', `create a platform admin; the password comes from ${VARIABLE} or from a prompt`)
    .requiredOption('--phone <number>', 'phone number with its country code, like +12025550100')
    .option('--name <name>', 'name of the admin', 'Administrator')
    .option('--password-stdin', 'read the password from standard input')
    .option(
      '--replace',
      'if a user has this number, make that user an admin, set this password and turn one-time passwords off',
    )
    .action(async (options: AdminOptions) => {
      const config = configOf(options)
      const phone = normalisePhone(options.phone)
      const password = await readPassword(VARIABLE, options.passwordStdin === true)
      new OperationValidator().body(USERS.adminCreateUser, { phone, name: options.name, password, role: 'admin' })
      const made = await withDatabase(config, output, async (database) => {
        await requireSchema(database)
        const wanted = { phone, name: options.name, password, replace: options.replace === true }
        return database.transaction((tx) => makeAdmin(tx, wanted))
      })
      output.line(`${made.isNew ? 'created' : 'changed'}: admin ${phone} (${made.id})`)
      output.value({ id: made.id, phone, created: made.isNew })
    })
}

/** Creates or changes the admin and writes the audit log row. */
async function makeAdmin(
  tx: Queryable,
  { phone, name, password, replace }: { phone: string; name: string; password: string; replace: boolean },
): Promise<{ readonly id: string; readonly isNew: boolean }> {
  const passwordHash = await hashPassword(password, { phone })
  const known = await findUserByPhone(tx, phone)
  if (known !== null && !replace) {
    throw new Error(`a user with the number ${phone} exists; --replace makes that user an admin`)
  }
  const id = known?.id ?? `user_${randomUUID()}`
  if (known === null) await insertUser(tx, { id, phone, name, passwordHash, role: 'admin', status: 'active' })
  else await updateUser(tx, id, { role: 'admin', status: 'active', passwordHash })
  // Whoever lost the authenticator and is the only admin gets in again.
  const hadTotp = await removeTotp(tx, id)
  await dropMailedTokens(tx, id, 'reset_password')
  await insertAuditEntry(tx, {
    ...BY_OPERATOR,
    operation: known === null ? 'adminCreateUser' : 'adminUpdateUser',
    path: 'sluice create-admin',
    enterpriseId: null,
    targetId: id,
    sent: JSON.stringify({ phone, role: 'admin' }),
    changes: changedFields({
      before: known === null ? null : { role: known.role, status: known.status, ...(hadTotp ? { totp: true } : {}) },
      after: {
        ...(known === null ? { phone, name } : {}),
        role: 'admin',
        status: 'active',
        ...(hadTotp ? { totp: false } : {}),
      },
    }),
  })
  return { id, isNew: known === null }
}
