import { SluiceClient } from '../client/client.ts'
import { UsageError } from '../shared/config/config-error.ts'
import { StoredLogins } from './stored-logins.ts'

const TOKEN = 'SLUICE_TOKEN'
const URL_VARIABLE = 'SLUICE_URL'
const DEFAULT_URL = 'http://127.0.0.1:8787'

/** The gateway that a command calls: that of `--url`, of SLUICE_URL, or of the last login. */
export function gatewayUrl(given: string | undefined, logins: StoredLogins): string {
  const variable = process.env[URL_VARIABLE]
  const url = given ?? (variable === undefined || variable === '' ? null : variable) ?? logins.last ?? DEFAULT_URL
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new UsageError(`--url ${url} is not a URL that begins with http:// or https://`)
  }
  return url.replace(/\/+$/, '')
}

/** A gateway, and the credential of a command that calls it. */
export interface Login {
  readonly url: string
  readonly token: string
}

/** The gateway, with the token in SLUICE_TOKEN or, without one, with that of `sluice login`. Throws UsageError when there is none. */
export function loginFor(given: string | undefined): Login {
  const logins = new StoredLogins(process.env)
  const url = gatewayUrl(given, logins)
  const variable = process.env[TOKEN]
  if (variable !== undefined && variable !== '') return { url, token: variable }
  const login = logins.find(url)
  if (login === null)
    throw new UsageError(`there is no login at ${url}: run sluice login --url ${url}, or set ${TOKEN}`)
  if (Date.parse(login.expires_at) <= Date.now()) {
    throw new UsageError(`the login at ${url} expired on ${login.expires_at}: run sluice login --url ${url}`)
  }
  return { url, token: login.token }
}

/** A client with the credential of `loginFor`. */
export function clientFor(given: string | undefined): SluiceClient {
  const { url, token } = loginFor(given)
  return new SluiceClient({ baseUrl: url, token })
}
