import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { UsageError } from '../shared/config/config-error.ts'
import { EXIT } from '../shared/core/exit-codes.ts'
import type { CommandContext } from './command.ts'
import { ToolServer } from './mcp-server.ts'
import { clientFor, loginFor } from './remote.ts'

interface McpOptions {
  readonly url?: string
}

interface AddOptions {
  readonly url: string
  readonly gateway?: string
  readonly sse?: true
  readonly openapi?: string
  readonly header: Readonly<Record<string, string>>
  readonly price?: number
  readonly timeout?: number
  readonly allowAll?: true
  readonly everyone?: true
  readonly oauth?: true
  readonly enterprise?: string
}

/** Commands for the tool server of a running gateway, with the token of `sluice login` or in SLUICE_TOKEN, or a key that is allowed tools. */
export function addMcp(program: Command, { output, ended }: CommandContext): void {
  const mcp = program.command('mcp').description('tools of a running gateway, and upstream servers of tools')
  const mcpCommand = (nameAndArguments: string, description: string): Command =>
    mcp
      .command(nameAndArguments)
      .description(description)
      .option('--url <url>', 'the gateway (default: SLUICE_URL, or that of the last sluice login)')
      .option('--json', 'print the result as JSON')
      .allowExcessArguments(false)

  mcpCommand('list', 'list the tools that you may use').action(async ({ url }: McpOptions) => {
    const { tools } = await new ToolServer(loginFor(url)).list()
    output.table([
      ['TOOL', 'KIND', 'DESCRIPTION'],
      ...tools.map(({ name, description, annotations }) => [name, kindOf(annotations), description]),
    ])
    output.value({ tools })
  })

  mcpCommand('call <tool> [arguments]', 'call a tool; its arguments are a JSON object').action(
    async (tool: string, json: string | undefined, { url }: McpOptions) => {
      const result = await new ToolServer(loginFor(url)).call(tool, argumentsOf(json))
      for (const { text } of result.content) if (text !== undefined) output.line(text)
      output.value(result)
      if (result.isError) ended(EXIT.failure)
    },
  )

  mcpCommand('servers', 'list the upstream servers of tools; for platform admins').action(
    async ({ url }: McpOptions) => {
      const servers = []
      for await (const server of clientFor(url).list('adminListToolServers')) servers.push(server)
      output.table([
        ['SERVER', 'STATE', 'TRANSPORT', 'ADDRESS', 'ALLOWED', 'HELD', 'WAITING'],
        ...servers.map(({ id, state, transport, url: address, tools }) => [
          id,
          state,
          transport,
          address ?? '',
          ...[tools.allowed, tools.held, tools.waiting].map(String),
        ]),
      ])
      output.value({ servers })
    },
  )

  mcp
    .command('add <name>')
    .description('register an upstream server of tools, whose names begin with this one; for platform admins')
    .requiredOption('--url <url>', 'address of the server')
    .option('--gateway <url>', 'the gateway (default: SLUICE_URL, or that of the last sluice login)')
    .option('--json', 'print the result as JSON')
    .allowExcessArguments(false)
    .option('--sse', 'the server speaks HTTP+SSE of 2024-11-05')
    .option(
      '--openapi <file>',
      'an OpenAPI document: the address is that of an HTTP API, whose operations become tools',
    )
    .option(
      '--header <header>',
      'a header of each request, like "Authorization: Bearer ..."; may be repeated',
      addHeader,
      {},
    )
    .option('--oauth', 'each user authorises the gateway at the server, and calls it with an own token')
    .option('--price <micro>', 'price of a call, in millionths of the currency', wholeNumber)
    .option('--timeout <ms>', 'longest time of a call', wholeNumber)
    .option('--allow-all', 'allow all tools that it has now')
    .option('--everyone', 'for every user, and every key with mcp_tools')
    .option('--enterprise <id>', 'for the members and keys of an enterprise')
    .action(async (id: string, options: AddOptions) => {
      const client = clientFor(options.gateway)
      const created = await client.call('adminCreateToolServer', { body: bodyOf(id, options) })
      if (options.oauth === true) {
        output.line(`${id}: run "sluice mcp connect ${id}", which lists its tools`)
        output.value(created)
        return
      }
      const server = await client.call('adminRefreshToolServer', { params: { id } })
      const { allowed, waiting } = server.tools
      output.line(`${id}: ${allowed} tools are allowed, ${waiting} wait for an admin`)
      output.value(server)
    })

  mcpCommand('connect <server>', 'show the page at which you authorise the gateway at a tool server').action(
    async (id: string, { url }: McpOptions) => {
      for await (const connection of clientFor(url).list('listToolConnections')) {
        if (connection.id !== id) continue
        const { state, connect_url: page } = connection
        if (page === null) throw new Error('the operator has to set server.base_url first')
        output.line(state === 'connected' ? `${id} is connected; ${page} ends that` : `Open ${page}`)
        output.value(connection)
        return
      }
      throw new Error(`there is no tool server ${id} that needs your authorisation`)
    },
  )

  mcpCommand('test', 'connect as a client of the protocol does, and report what it gets').action(
    async ({ url }: McpOptions) => {
      const login = loginFor(url)
      const report = await new ToolServer(login).test()
      output.line(
        `${login.url}/mcp: ${report.server} speaks ${report.protocol}, ${report.tools} tools, ${report.ms} ms`,
      )
      output.value({ url: `${login.url}/mcp`, ...report })
    },
  )
}

function kindOf(annotations: { readonly readOnlyHint?: boolean; readonly destructiveHint?: boolean }): string {
  if (annotations.readOnlyHint === true) return 'reads'
  return annotations.destructiveHint === true ? 'destroys' : 'changes'
}

function argumentsOf(json: string | undefined): object {
  try {
    const value: unknown = JSON.parse(json ?? '{}')
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // The message below says what is expected.
  }
  throw new UsageError(`the arguments must be a JSON object, like '{"limit": 5}'`)
}

function bodyOf(id: string, options: AddOptions) {
  const { url, sse, openapi, header, price, timeout, allowAll, everyone, enterprise, oauth } = options
  const access = [
    ...(everyone === undefined ? [] : [{ everyone }]),
    ...(enterprise === undefined ? [] : [{ enterprise_id: enterprise }]),
  ]
  return {
    id,
    url,
    headers: header,
    access,
    ...(sse === true ? { transport: 'sse' as const } : {}),
    ...(openapi === undefined ? {} : { openapi: readFileSync(openapi, 'utf8') }),
    allow_all_tools: allowAll ?? false,
    ...(oauth === true ? { auth: 'oauth' as const } : {}),
    ...(price === undefined ? {} : { price_micro: price }),
    ...(timeout === undefined ? {} : { timeout_ms: timeout }),
  }
}

function addHeader(text: string, before: Readonly<Record<string, string>>): Record<string, string> {
  const [, name, value] = /^([^:\s]+):\s*(.+)$/.exec(text) ?? []
  if (name === undefined || value === undefined) throw new UsageError('a header must be like "Name: value"')
  return { ...before, [name]: value }
}

function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new UsageError(`${text} is not a whole number`)
  return Number(text)
}
