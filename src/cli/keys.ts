import type { Command } from 'commander'
import type { RequestOf, ResultOf } from '../client/operations.ts'
import { UsageError } from '../shared/config/config-error.ts'
import { command } from './command.ts'
import type { CommandContext, CommonOptions } from './command.ts'
import type { WhoseKeys } from './keys-backend.ts'
import type { Output } from './output.ts'
import { withKeys } from './with-keys.ts'

type Key = ResultOf<'getKey'>
type KeyOptions = CommonOptions & WhoseKeys

interface CreateOptions extends KeyOptions {
  readonly name: string
  readonly rpm?: number
  readonly tpm?: number
  readonly maxConcurrency?: number
  readonly monthlyBudget?: number
  readonly monthlyTokens?: number
  readonly models?: string[]
  readonly ipAllow?: string[]
  readonly clientAllow?: string[]
  readonly expiresAt?: string
}

/**
 * Entry API keys: of a user or an enterprise on the database of the gateway, or with `--url` those that the token in SLUICE_TOKEN may
 * manage.
 */
export function addKeys(program: Command, { output }: CommandContext): void {
  const keys = program.command('keys').description('entry API keys: list, create, toggle, rotate, delete')
  const keysCommand = (nameAndArguments: string, description: string): Command =>
    command(keys, nameAndArguments, description)
      .option('--user <phone>', 'whose keys, on the database (default: those of the only admin)')
      .option('--enterprise <id>', 'the keys of this enterprise')
      .option('--url <url>', 'ask a gateway that runs there, with the token in SLUICE_TOKEN, not the database')

  keysCommand('list', 'all keys').action(async (options: KeyOptions) => {
    const list = await withKeys(options, output, (door) => door.list())
    output.table([['ID', 'NAME', 'KEY', 'STATE'], ...list.map(rowOf)])
    output.value({ data: list })
  })

  keysCommand('create', 'make a key; it is told this once')
    .requiredOption('--name <name>', 'of the key')
    .option('--rpm <number>', 'requests per minute', count)
    .option('--tpm <number>', 'tokens per minute', count)
    .option('--max-concurrency <number>', 'requests at the same time', count)
    .option('--monthly-budget <number>', 'micro-units per month; of an enterprise', count)
    .option('--monthly-tokens <number>', 'tokens per month; of an enterprise', count)
    .option('--models <names>', 'the models it may use, separated by commas', names)
    .option('--ip-allow <ranges>', 'where it may be used from, separated by commas', names)
    .option('--client-allow <prefixes>', 'beginnings of the User-Agents it may be used by, separated by commas', names)
    .option('--expires-at <time>', 'ISO 8601')
    .action(async (options: CreateOptions) => {
      const made = await withKeys(options, output, (door) => door.create(bodyOf(options)))
      output.line(`made: ${made.name} (${made.id})`)
      output.line(made.key)
      output.value(made)
    })

  keysCommand('toggle <id>', 'turn a key off, or on again')
    .option('--on', 'on, whatever it was')
    .option('--off', 'off, whatever it was')
    .action(async (id: string, options: KeyOptions & { readonly on?: true; readonly off?: true }) => {
      if (options.on === true && options.off === true) throw new UsageError('give --on or --off, not both')
      const enabled = options.on === true ? true : options.off === true ? false : null
      tellKey(output, await withKeys(options, output, (door) => door.toggle(id, enabled)))
    })

  keysCommand('rotate <id>', 'give a key a new secret; the old one goes on for a while')
    .option('--grace <seconds>', 'how long the old secret is good for (default: a day)', count)
    .action(async (id: string, options: KeyOptions & { readonly grace?: number }) => {
      const rotated = await withKeys(options, output, (door) => door.rotate(id, options.grace))
      output.line(`made: a new secret of ${rotated.name} (${rotated.id})`)
      output.line(rotated.key)
      output.value(rotated)
    })

  keysCommand('delete <id>', 'delete a key, for good').action(async (id: string, options: KeyOptions) => {
    await withKeys(options, output, (door) => door.delete(id))
    output.line(`deleted: ${id}`)
    output.value({ id, deleted: true })
  })
}

function bodyOf(options: CreateOptions): RequestOf<'createEnterpriseKey'>['body'] {
  const body = {
    name: options.name,
    rpm: options.rpm,
    tpm: options.tpm,
    max_concurrency: options.maxConcurrency,
    monthly_budget: options.monthlyBudget,
    monthly_tokens: options.monthlyTokens,
    models: options.models,
    ip_allow: options.ipAllow,
    client_allow: options.clientAllow,
    expires_at: options.expiresAt,
  }
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))
  return given as RequestOf<'createEnterpriseKey'>['body']
}

function tellKey(output: Output, key: Key): void {
  output.line(`${key.enabled ? 'on' : 'off'}: ${key.name} (${key.id})`)
  output.value(key)
}

function rowOf(key: Key): string[] {
  const isOver = key.expires_at !== null && Date.parse(key.expires_at) <= Date.now()
  return [key.id, key.name, key.key_masked, isOver ? 'expired' : key.enabled ? 'on' : 'off']
}

function count(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new UsageError(`${text} is not a whole number`)
  return Number(text)
}

function names(text: string): string[] {
  return text.split(',').map((name) => name.trim())
}
