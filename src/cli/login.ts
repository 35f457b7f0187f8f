import type { Command } from 'commander'
import { SluiceClient } from '../client/client.ts'
import { ApiError } from '../client/errors.ts'
import type { CommandContext } from './command.ts'
import { readCredentials } from './password.ts'
import { gatewayUrl } from './remote.ts'
import { StoredLogins } from './stored-logins.ts'

const PHONE = 'SLUICE_PHONE'
const PASSWORD = 'SLUICE_PASSWORD'

interface LoginOptions {
  readonly url?: string
  readonly phone?: string
  readonly code?: string
}

interface LogoutOptions {
  readonly url?: string
  readonly all?: true
}

export function addLogin(program: Command, { output }: CommandContext): void {
  remoteCommand(
    program,
    'login',
    `log in to a running gateway, for the commands that call it; phone and password come from ${PHONE} and ${PASSWORD}, from the terminal, or from lines of standard input`,
  )
    .option('--phone <number>', 'phone number with its country code, like +12025550100')
    .option('--code <code>', 'the one-time password of a user who has them on, or a recovery code')
    .action(async (options: LoginOptions) => {
      const logins = new StoredLogins(process.env)
      const url = gatewayUrl(options.url, logins)
      const credentials = await readCredentials({
        phone: options.phone,
        phoneVariable: PHONE,
        passwordVariable: PASSWORD,
      })
      if (isReadOnTheWay(url)) output.note(`the password goes to ${url} without encryption: use https://`)
      const client = new SluiceClient({ baseUrl: url, maxRetries: 0 })
      const {
        token,
        expires_in: seconds,
        user,
      } = await client.login({
        ...credentials,
        ...(options.code === undefined ? {} : { code: options.code }),
      })
      const expiresAt = new Date(Date.now() + seconds * 1000).toISOString()
      const phone = user.phone ?? credentials.phone
      logins.keep(url, { token, phone, expires_at: expiresAt })
      output.line(`logged in at ${url} as ${user.name} (${phone}, ${user.role}) until ${expiresAt}`)
      output.value({
        url,
        user: { id: user.id, phone, name: user.name, role: user.role },
        expires_at: expiresAt,
      })
    })
}

export function addLogout(program: Command, { output }: CommandContext): void {
  remoteCommand(program, 'logout', 'end the login at a gateway, there and on this machine')
    .option('--all', 'end the logins at all gateways')
    .action(async (options: LogoutOptions) => {
      const logins = new StoredLogins(process.env)
      const urls = options.all === true ? logins.urls : [gatewayUrl(options.url, logins)]
      const ended: string[] = []
      for (const url of urls) {
        const login = logins.find(url)
        if (login === null) {
          output.line(`there is no login at ${url}`)
          continue
        }
        logins.forget(url)
        const failure = await endSession(url, login.token)
        if (failure !== null) output.note(`${url} still accepts the token until ${login.expires_at}: ${failure}`)
        output.line(`logged out of ${url}`)
        ended.push(url)
      }
      output.value({ logged_out: ended })
    })
}

function remoteCommand(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .option('--url <url>', 'the gateway (default: SLUICE_URL, the last login, http://127.0.0.1:8787)')
    .option('--json', 'print the result as JSON')
    .allowExcessArguments(false)
}

/** Returns why the gateway could not revoke the token; null: the token is not valid any more. */
async function endSession(url: string, token: string): Promise<string | null> {
  try {
    await new SluiceClient({ baseUrl: url, token, maxRetries: 0 }).call('logout')
    return null
  } catch (cause) {
    if (cause instanceof ApiError && cause.statusCode === 401) return null
    return cause instanceof Error ? cause.message : String(cause)
  }
}

function isReadOnTheWay(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
}
