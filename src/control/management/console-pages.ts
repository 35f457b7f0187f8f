import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { GatewayError } from '../../shared/core/errors.ts'
import type { ManagementRequest, ManagementResponse } from './web.ts'

const ROOT = '/console'
/** A file whose name contains the digest of its content, so that a browser may keep it for ever. */
const ASSET = /^\/console\/assets\/([\w-][\w.-]{0,79}[.](js|css|svg|json))$/
const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  json: 'application/json',
}
const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const
/** The bundle has it wherever the page needs the nonce of the response. */
const NONCE = '__NONCE__'
const NONCE_BYTES = 18

/** All that scripts and styles of the console need, and nothing else. */
function policyOf(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self'",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ')
}

const COMMON = [
  ['X-Content-Type-Options', 'nosniff'],
  ['Referrer-Policy', 'no-referrer'],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
] as const

const NOT_BUILT = `<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Sluice: the console is not built</title>
  <h1>The console is not built</h1>
  <p>This gateway runs from a checkout. Build the console with <code>npm run build</code>, then load this page again. The gateway need not
  be restarted.</p>
  <p><a href="/docs">The API</a> does all that the console does.</p>
</html>
`

/**
 * Serves the files of the console. Each path below /console that is no file is a page of the console: its own router shows it.
 * The files are read at each request: browsers keep them, and a new build is served at once.
 */
export class ConsolePages {
  readonly #directory: URL

  constructor(directory: URL = new URL('../../console/', import.meta.url)) {
    this.#directory = directory
  }

  /** Whether `serve` answers. Fronts redirect browsers from `/` themselves, the listener of the management plane does not. */
  has({ path, headers }: Pick<ManagementRequest, 'path' | 'headers'>): boolean {
    if (path === '/') return headers['accept']?.includes('text/html') === true
    return path === ROOT || path.startsWith(`${ROOT}/`)
  }

  /** Throws METHOD_NOT_ALLOWED, NOT_FOUND. */
  async serve({ method, path, headers, requestId }: ManagementRequest): Promise<ManagementResponse> {
    if (method !== 'GET' && method !== 'HEAD') {
      throw new GatewayError('METHOD_NOT_ALLOWED', { message: 'This path takes GET.', allow: ['GET', 'HEAD'] })
    }
    const response = await this.#response(path, headers['accept-encoding'] ?? '')
    const common = [...COMMON, ['X-Request-Id', requestId]] as const
    return { ...response, headers: [...response.headers, ...common] }
  }

  async #response(path: string, acceptEncoding: string): Promise<Omit<ManagementResponse, 'body'> & { body: Buffer }> {
    if (path === '/') return { status: 303, headers: [['Location', ROOT]], body: Buffer.alloc(0) }
    if (path.startsWith(`${ROOT}/assets/`)) return this.#asset(path, acceptEncoding)
    return this.#page()
  }

  async #asset(path: string, acceptEncoding: string): Promise<ManagementResponse & { body: Buffer }> {
    const [, name, extension = ''] = ASSET.exec(path) ?? []
    if (name === undefined) throw new GatewayError('NOT_FOUND')
    const headers: Array<readonly [string, string]> = [
      ['Content-Type', TYPES[extension] ?? 'application/octet-stream'],
      ['Cache-Control', 'public, max-age=31536000, immutable'],
      ['Vary', 'Accept-Encoding'],
    ]
    for (const [encoding, ending] of ENCODINGS) {
      if (!accepts(acceptEncoding, encoding)) continue
      const body = await this.#read(`assets/${name}${ending}`)
      if (body !== null) return { status: 200, headers: [...headers, ['Content-Encoding', encoding]], body }
    }
    const body = await this.#read(`assets/${name}`)
    // A page of an older build asks for it; it shows that there is a newer one.
    if (body === null) throw new GatewayError('NOT_FOUND')
    return { status: 200, headers, body }
  }

  async #page(): Promise<ManagementResponse & { body: Buffer }> {
    const nonce = randomBytes(NONCE_BYTES).toString('base64')
    const page = (await this.#read('build.json')) === null ? null : await this.#read('index.html')
    const body = page === null ? NOT_BUILT : page.toString('utf8').replaceAll(NONCE, nonce)
    return {
      status: page === null ? 404 : 200,
      headers: [
        ['Content-Type', 'text/html; charset=utf-8'],
        // It names the files of one build, and has the nonce of one response.
        ['Cache-Control', 'no-store'],
        ['Content-Security-Policy', policyOf(nonce)],
        ['X-Frame-Options', 'DENY'],
      ],
      body: Buffer.from(body),
    }
  }

  /** Null: there is no such file. `name` never leads out of the directory: `ASSET` knows no dots and slashes. */
  async #read(name: string): Promise<Buffer | null> {
    try {
      return await readFile(new URL(name, this.#directory))
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw cause
    }
  }
}

/** Whether a client takes an encoding: it is listed, and not with a weight of nothing. */
function accepts(acceptEncoding: string, encoding: string): boolean {
  return acceptEncoding.split(',').some((entry) => {
    const [name = '', ...parameters] = entry
      .trim()
      .toLowerCase()
      .split(/\s*;\s*/)
    return name === encoding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
  })
}
