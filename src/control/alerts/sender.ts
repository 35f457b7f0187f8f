import { signedWebhookHeaders } from '../../shared/core/standard-webhooks.ts'
import type { UpstreamReach } from '../../shared/core/upstream-reach.ts'
import type { Seal } from '../../shared/runtime/seal.ts'
import { channelContext, findChannelSecrets } from '../store/alerts.ts'
import type { ChannelSecrets } from '../store/alerts.ts'
import type { NewDelivery } from '../store/alert-deliveries.ts'
import type { Queryable } from '../store/database.ts'
import type { StoredLetter } from './messages.ts'

/** The outcome of one POST. */
export interface PostAnswer {
  /** Null: there was no answer. */
  readonly status: number | null
  /** The reason why there was none, in the gateway's own words; null: there was one. */
  readonly error: string | null
  readonly retryAfterSeconds: number | null
}

/** Posts a body to an address that the operator did not give. Follows no redirect. Resolves within its deadline. */
export type Post = (
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
) => Promise<PostAnswer>

export interface AlertMailer {
  /** Resolves when the mail server has taken the e-mail; rejects within the mailer's deadline. */
  deliver(letter: { to: string; subject: string; text: string; messageId: string }): Promise<void>
}

export interface SenderParts {
  readonly database: Queryable
  readonly seal: Seal
  readonly reach: UpstreamReach
  readonly post: Post
  /** Null: no mail server is configured. */
  readonly mailer: AlertMailer | null
  readonly userAgent: string
}

/** The outcome of one attempt. */
export interface Attempt {
  readonly ok: boolean
  readonly status: number | null
  readonly error: string | null
  readonly retryAfterSeconds: number | null
  /** `gone`: no other attempt makes sense. `dropped`: there is nobody to send it to. */
  readonly end: 'gone' | 'dropped' | null
}

const GONE = 410

/** Sends one message to one channel, once. */
export class AlertSender {
  readonly #parts: SenderParts

  constructor(parts: SenderParts) {
    this.#parts = parts
  }

  /** Rejects only when the database does. */
  async send(delivery: NewDelivery, nowMs: number, signal: AbortSignal): Promise<Attempt> {
    return delivery.type === 'mail' ? this.#mail(delivery, signal) : this.#webhook(delivery, nowMs, signal)
  }

  async #webhook(delivery: NewDelivery, nowMs: number, signal: AbortSignal): Promise<Attempt> {
    const { database, reach, post, userAgent } = this.#parts
    const { channelId, address, body, eventId } = delivery
    const channel = (await findChannelSecrets(database, [channelId ?? ''])).get(channelId ?? '')
    if (channel === undefined) return failed('The channel is gone.', 'dropped')
    const secrets = this.#secretsOf(channelId ?? '', channel, nowMs)
    if (secrets.length === 0) return failed('The secret of the webhook cannot be read. Rotate it.')
    const url = new URL(address)
    const refusal = reach.refusalOf(url)
    if (refusal !== null) return failed(`The address ${refusal}.`)
    const headers = {
      'content-type': 'application/json',
      'user-agent': userAgent,
      ...signedWebhookHeaders(secrets, eventId, body, nowMs),
    }
    const { status, error, retryAfterSeconds } = await post(url, headers, body, signal)
    if (status === null) return failed(error ?? 'There was no answer.')
    const ok = status >= 200 && status < 300
    return {
      ok,
      status,
      error: ok ? null : wordsOf(status),
      retryAfterSeconds,
      end: status === GONE ? 'gone' : null,
    }
  }

  #secretsOf(channelId: string, { secret, oldSecret, oldSecretUntil }: ChannelSecrets, nowMs: number): string[] {
    const isOldValid = oldSecretUntil !== null && oldSecretUntil.getTime() > nowMs
    const sealed = [secret, isOldValid ? oldSecret : null].filter((one) => one !== null)
    const opened = sealed.map((one) => this.#parts.seal.open(one, channelContext(channelId))?.toString('utf8'))
    return opened.filter((one) => one !== undefined)
  }

  async #mail({ id, address, body }: NewDelivery, signal: AbortSignal): Promise<Attempt> {
    const { mailer } = this.#parts
    if (mailer === null) return failed('No mail server is configured (mail.smtp).')
    try {
      // A mail server that gets it twice, after an end of this process, can tell by its id.
      const sent = mailer.deliver({ to: address, ...(JSON.parse(body) as StoredLetter), messageId: id })
      await Promise.race([sent, aborted(signal)])
      return { ok: true, status: null, error: null, retryAfterSeconds: null, end: null }
    } catch {
      return failed('The mail server did not take the e-mail.')
    }
  }
}

/** Rejects when the signal is aborted. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = (): void => {
      reject(new Error('the process ends'))
    }
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
}

function wordsOf(status: number): string {
  const isRedirect = status >= 300 && status < 400
  return isRedirect ? `It answered ${status}: redirects are not followed.` : `It answered ${status}.`
}

function failed(error: string, end: Attempt['end'] = null): Attempt {
  return { ok: false, status: null, error, retryAfterSeconds: null, end }
}
