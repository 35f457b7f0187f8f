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
  readonly mcpTools?: string[]
  readonly expiresAt?: string
}

/**
 * Commands for the entry API keys of a user or an enterprise in the database; with `--url` or `--remote`, for those that the
 * logged-in user may manage.
 */
export function addKeys(program: Command, { output }: CommandContext): void {
  const keys = program.command('keys').description('entry API keys: list, create, toggle, rotate, delete')
  const keysCommand = (nameAndArguments: string, description: string): Command =>
    command(keys, nameAndArguments, description)
      .option('--user <phone>', 'the keys of this user, in the database (default: of the only admin)')
      .option('--enterprise <id>', 'the keys of this enterprise')
      .option(
        '--url <url>',
        'use the running gateway at this URL, with the token of sluice login or in SLUICE_TOKEN, not the database',
      )
      .option('--remote', 'the same with the gateway of SLUICE_URL or of the last sluice login')

  keysCommand('list', 'list all keys').action(async (options: KeyOptions) => {
    const list = await withKeys(options, output, (backend) => backend.list())
    output.table([['ID', 'NAME', 'KEY', 'STATE'], ...list.map(rowOf)])
    output.value({ data: list })
  })

  keysCommand('create', 'create a key; its secret is printed this once')
    .requiredOption('--name <name>', 'name of the key')
    .option('--rpm <number>', 'requests per minute', count)
    .option('--tpm <number>', 'tokens per minute', count)
    .option('--max-concurrency <number>', 'requests at the same time', count)
    .option('--monthly-budget <number>', 'micro-units of money per month; for keys of an enterprise', count)
    .option('--monthly-tokens <number>', 'tokens per month; for keys of an enterprise', count)
    .option('--models <names>', 'models that the key may use, separated by commas', names)
    .option('--ip-allow <ranges>', 'addresses and ranges that may use the key, separated by commas', names)
    .option('--client-allow <prefixes>', 'prefixes of the User-Agents that may use the key, separated by commas', names)
    .option('--mcp-tools <names>', 'tools that the key may use at /mcp, separated by commas; * is all', names)
    .option('--expires-at <time>', 'when the key expires, ISO 8601')
    .action(async (options: CreateOptions) => {
      const made = await withKeys(options, output, (backend) => backend.create(bodyOf(options)))
      output.line(`created: ${made.name} (${made.id})`)
      output.line(made.key)
      output.value(made)
    })

  keysCommand('toggle <id>', 'turn a key off, or on again')
    .option('--on', 'turn it on, whatever its state is')
    .option('--off', 'turn it off, whatever its state is')
    .action(async (id: string, options: KeyOptions & { readonly on?: true; readonly off?: true }) => {
      if (options.on === true && options.off === true) throw new UsageError('give --on or --off, not both')
      const enabled = options.on === true ? true : options.off === true ? false : null
      tellKey(output, await withKeys(options, output, (backend) => backend.toggle(id, enabled)))
    })

  keysCommand('rotate <id>', 'give a key a new secret; the old one stays valid for the grace time')
    .option('--grace <seconds>', 'how long the old secret stays valid (default: one day)', count)
    .action(async (id: string, options: KeyOptions & { readonly grace?: number }) => {
      const rotated = await withKeys(options, output, (backend) => backend.rotate(id, options.grace))
      output.line(`new secret: ${rotated.name} (${rotated.id})`)
      output.line(rotated.key)
      output.value(rotated)
    })

  keysCommand('delete <id>', 'delete a key; this cannot be undone').action(async (id: string, options: KeyOptions) => {
    await withKeys(options, output, (backend) => backend.delete(id))
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
    mcp_tools: options.mcpTools,
    expires_at: options.expiresAt,
  }
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))
  return { ...given, name: options.name }
}

function tellKey(output: Output, key: Key): void {
  output.line(`${key.enabled ? 'on' : 'off'}: ${key.name} (${key.id})`)
  output.value(key)
}

function rowOf(key: Key): string[] {
  const isExpired = key.expires_at !== null && Date.parse(key.expires_at) <= Date.now()
  return [key.id, key.name, key.key_masked, isExpired ? 'expired' : key.enabled ? 'on' : 'off']
}

function count(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new UsageError(`${text} is not a whole number`)
  return Number(text)
}

function names(text: string): string[] {
  return text.split(',').map((name) => name.trim())
}
