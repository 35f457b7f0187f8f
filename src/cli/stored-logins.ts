import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { isObject } from '../shared/config/is-object.ts'

export interface StoredLogin {
  readonly token: string
  readonly phone: string
  /** ISO 8601. */
  readonly expires_at: string
}

interface Content {
  /** URL of the last login. */
  readonly last: string | null
  readonly logins: Readonly<Record<string, StoredLogin>>
}

const EMPTY: Content = { last: null, logins: {} }

/** The tokens of `sluice login`, by the URL of the gateway, in the user's configuration folder. Only the user may read the file. */
export class StoredLogins {
  readonly path: string
  readonly #directory: string

  constructor(env: Readonly<Record<string, string | undefined>>) {
    const base = env['XDG_CONFIG_HOME']
    this.#directory = join(base === undefined || base === '' ? join(homedir(), '.config') : base, 'sluice')
    this.path = join(this.#directory, 'logins.json')
  }

  /** URL of the last login; null: there is none. */
  get last(): string | null {
    return this.#read().last
  }

  /** URLs of all gateways with a login. */
  get urls(): readonly string[] {
    return Object.keys(this.#read().logins)
  }

  find(url: string): StoredLogin | null {
    return this.#read().logins[url] ?? null
  }

  keep(url: string, login: StoredLogin): void {
    this.#write({ last: url, logins: { ...this.#read().logins, [url]: login } })
  }

  forget(url: string): void {
    const { last, logins } = this.#read()
    const { [url]: _, ...rest } = logins
    const urls = Object.keys(rest)
    if (urls.length === 0) rmSync(this.path, { force: true })
    else this.#write({ last: last === url ? (urls.at(-1) ?? null) : last, logins: rest })
  }

  /** A file that this program did not write counts as empty. */
  #read(): Content {
    try {
      const content = JSON.parse(readFileSync(this.path, 'utf8')) as unknown
      return isObject(content) && isObject(content['logins']) ? (content as unknown as Content) : EMPTY
    } catch (cause) {
      if (cause instanceof SyntaxError || (cause as NodeJS.ErrnoException).code === 'ENOENT') return EMPTY
      throw cause
    }
  }

  /** Atomic: a command that runs meanwhile reads the old or the new content. */
  #write(content: Content): void {
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 })
    const temporary = `${this.path}.${process.pid}`
    rmSync(temporary, { force: true })
    writeFileSync(temporary, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
    chmodSync(temporary, 0o600)
    renameSync(temporary, this.path)
  }
}
