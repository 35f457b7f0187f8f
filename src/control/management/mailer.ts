import { createTransport } from 'nodemailer'

/** A plain-text e-mail to one person. */
export interface Letter {
  /** An e-mail address without a name. */
  readonly to: string
  readonly subject: string
  readonly text: string
  /** Names the e-mail: mail servers and readers know it when they get it twice. Default: a new name. */
  readonly messageId?: string
}

export interface MailerOptions {
  readonly url: string
  readonly from: string
  readonly requireTls: boolean
  readonly logger: { warn(context: object, message: string): void }
}

interface Transport {
  sendMail(mail: object): Promise<unknown>
}

const RUNNING = 2
const WAITING = 100
const DEADLINE_MS = 10_000
/** For the timers of the mail client, which must fire later: their errors say less. */
const CLIENT_DEADLINE_MS = DEADLINE_MS + 1_000

/** Sends e-mails to a mail server in the background, a few at a time, each once. Failures are logged. */
export class Mailer {
  readonly #options: MailerOptions
  readonly #transport: Transport
  #waiting: Letter[] = []
  #running = 0

  constructor(options: MailerOptions) {
    this.#options = options
    const { url, requireTls } = options
    const { protocol, hostname, port, username, password } = new URL(url)
    const secure = protocol === 'smtps:'
    this.#transport = createTransport({
      host: hostname.replace(/^\[|\]$/g, ''),
      ...(port === '' ? {} : { port: Number(port) }),
      secure,
      requireTLS: requireTls,
      ...(username === '' ? {} : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
      connectionTimeout: CLIENT_DEADLINE_MS,
      greetingTimeout: CLIENT_DEADLINE_MS,
      socketTimeout: CLIENT_DEADLINE_MS,
      dnsTimeout: CLIENT_DEADLINE_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    })
  }

  /** Returns whether the queue has space for an e-mail. */
  get hasRoom(): boolean {
    return this.#waiting.length < WAITING
  }

  /** Half of the queue is taken. The other half is for e-mails that a user waits for: links for a new password or an address. */
  get isBusy(): boolean {
    return this.#waiting.length >= WAITING / 2
  }

  /** Queues the e-mail and returns at once. When the queue is full, drops the e-mail and logs this. */
  send(letter: Letter): void {
    if (this.hasRoom) {
      this.#waiting.push(letter)
    } else {
      this.#options.logger.warn({ to: letter.to }, 'an e-mail was dropped: too many e-mails wait for the mail server')
    }
    this.#next()
  }

  /** Sends the e-mail at once, beside those that wait. Rejects when it is not taken within the deadline. */
  async deliver(letter: Letter): Promise<void> {
    try {
      await this.#deliver(letter)
    } catch (cause) {
      this.#options.logger.warn({ to: letter.to, reason: reasonOf(cause) }, 'an e-mail could not be sent')
      throw cause
    }
  }

  /** Drops the e-mails that wait. */
  close(): void {
    this.#waiting = []
  }

  #next(): void {
    if (this.#running >= RUNNING) return
    const letter = this.#waiting.shift()
    if (letter === undefined) return
    this.#running += 1
    this.#deliver(letter)
      .catch((cause: unknown) => {
        this.#options.logger.warn({ to: letter.to, reason: reasonOf(cause) }, 'an e-mail could not be sent')
      })
      .finally(() => {
        this.#running -= 1
        this.#next()
      })
  }

  async #deliver({ to, subject, text, messageId }: Letter): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new Error(`the mail server did not answer within ${DEADLINE_MS} ms`))
      }, DEADLINE_MS)
    })
    try {
      // Addresses are objects: a text would be parsed, and could contain several addresses.
      const { from } = this.#options
      const mail = { from: { name: '', address: from }, to: { name: '', address: to }, subject, text }
      const name = messageId === undefined ? {} : { messageId: `<${messageId}@${from.split('@')[1] ?? 'sluice'}>` }
      await Promise.race([this.#transport.sendMail({ ...mail, ...name }), late])
    } finally {
      clearTimeout(timer)
    }
  }
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
