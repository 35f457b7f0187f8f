import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { jwtVerify } from 'jose'

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'

/** Issues access tokens to one service account, as strictly as Google: "token-1", "token-2", … */
export class TokenEndpoint {
  readonly url: string
  /** Statuses of the next answers, in place of a token. */
  refusals: number[] = []
  given = 0
  readonly #server: Server
  readonly #keys = generateKeyPairSync('rsa', { modulusLength: 2048 })

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      void this.#answer(request, response)
    })
  }

  static async start(): Promise<TokenEndpoint> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new TokenEndpoint(server)
  }

  /** The file that an operator downloads. */
  get account(): Record<string, string> {
    return {
      type: 'service_account',
      private_key_id: 'key-1',
      private_key: this.#keys.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
      client_email: 'sluice@our-project.iam.gserviceaccount.com',
      token_uri: this.url,
    }
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    const status = this.refusals.shift() ?? ((await this.#isSigned(new URLSearchParams(text))) ? 200 : 400)
    response.writeHead(status, { 'content-type': 'application/json' })
    if (status === 200) {
      this.given++
      response.end(JSON.stringify({ access_token: `token-${this.given}`, expires_in: 3599, token_type: 'Bearer' }))
    } else response.end(JSON.stringify({ error: 'invalid_grant', error_description: 'Invalid JWT Signature.' }))
  }

  async #isSigned(form: URLSearchParams): Promise<boolean> {
    if (form.get('grant_type') !== GRANT) return false
    const expected = { issuer: this.account['client_email'] ?? '', audience: this.url, algorithms: ['RS256'] }
    try {
      const { payload, protectedHeader } = await jwtVerify(form.get('assertion') ?? '', this.#keys.publicKey, expected)
      const seconds = (payload.exp ?? Number.NaN) - (payload.iat ?? Number.NaN)
      return payload['scope'] === SCOPE && protectedHeader.kid === 'key-1' && seconds > 0 && seconds <= 3600
    } catch {
      return false
    }
  }
}
