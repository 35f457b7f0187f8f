import { createTransport } from 'nodemailer'

/** Plain text for one person. */
export interface Letter {
  /** A mail address, without a name. */
  readonly to: string
  readonly subject: string
  readonly text: string
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
/** Of the mail client's own timers: they say less, and are to come after. */
const CLIENT_DEADLINE_MS = DEADLINE_MS + 1_000

/** Hands letters to a mail server, behind the back of whoever asked: a few at a time, each once. What fails is told to the log. */
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

  /** Whether a letter would be taken. */
  get hasRoom(): boolean {
    return this.#waiting.length < WAITING
  }

  /** Returns at once. A letter for which there is no room is told to the log. */
  send(letter: Letter): void {
    if (this.hasRoom) this.#waiting.push(letter)
    else this.#options.logger.warn({ to: letter.to }, 'a letter was not sent: too many wait')
    this.#next()
  }

  /** Those that wait are not sent any more. */
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
        const reason = cause instanceof Error ? cause.message : String(cause)
        this.#options.logger.warn({ to: letter.to, reason }, 'a letter could not be sent')
      })
      .finally(() => {
        this.#running -= 1
        this.#next()
      })
  }

  async #deliver({ to, subject, text }: Letter): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new Error(`no answer of the mail server within ${DEADLINE_MS} ms`))
      }, DEADLINE_MS)
    })
    try {
      // Addresses as objects: a text would be parsed, and could name several.
      const mail = { from: { name: '', address: this.#options.from }, to: { name: '', address: to }, subject, text }
      await Promise.race([this.#transport.sendMail(mail), late])
    } finally {
      clearTimeout(timer)
    }
  }
}
