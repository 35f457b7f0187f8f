import type { Mailer } from '../management/mailer.ts'
import type { ControlBase } from './base.ts'

/** Null: no mail server is configured. Mail is loaded where it is used. */
export async function buildMailer({ config, logger }: ControlBase): Promise<Mailer | null> {
  const { smtp } = config.mail
  if (smtp === null) return null
  const { Mailer } = await import('../management/mailer.ts')
  return new Mailer({ ...smtp, logger: logger.child('mail') })
}
