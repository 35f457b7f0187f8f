import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { expect } from 'vitest'
import { eventually } from './eventually.ts'

export interface ReceivedMail {
  readonly to: readonly string[]
  readonly subject: string
  readonly body: string
}

/** A mail server on loopback that keeps what it receives. */
export class MailServer {
  readonly received: ReceivedMail[] = []
  readonly #server: SMTPServer

  private constructor() {
    this.#server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      onData: (stream, { envelope }, done) => {
        const chunks: Buffer[] = []
        stream.on('data', (chunk: Buffer) => chunks.push(chunk))
        stream.on('end', () => {
          const [head = '', body = ''] = Buffer.concat(chunks)
            .toString()
            .split(/\r\n\r\n(.*)/s)
          this.received.push({
            to: envelope.rcptTo.map(({ address }) => address),
            subject: /^Subject: (.*)$/m.exec(head)?.[1]?.trim() ?? '',
            body: body.replaceAll('=\r\n', '').replaceAll('=3D', '='),
          })
          done()
        })
      },
    })
  }

  static async start(): Promise<MailServer> {
    const server = new MailServer()
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve))
    return server
  }

  /** The mail section of a configuration. */
  get config(): object {
    const { port } = this.#server.server.address() as AddressInfo
    return { smtp: { url: `smtp://127.0.0.1:${port}`, from: 'sluice@example.com', require_tls: false } }
  }

  /** Waits for the e-mail of this number, from 1, to an address, and returns the token of its link. */
  async tokenTo(address: string, count = 1): Promise<string> {
    let body = ''
    await eventually(() => {
      const mails = this.received.filter(({ to }) => to.includes(address))
      expect(mails.length).toBeGreaterThanOrEqual(count)
      body = mails[count - 1]?.body ?? ''
    })
    const token = /#token=([\w-]+)/.exec(body)?.[1]
    if (token === undefined) throw new Error(`the e-mail has no link: ${body}`)
    return token
  }

  async stop(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(resolve)
    })
  }
}
