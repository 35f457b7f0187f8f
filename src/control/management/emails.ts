import type { Letter } from './mailer.ts'

const MAX_NAME = 100

/** Returns the e-mail of an invitation. Its headers contain no text that other users chose. */
export function invitationEmail(to: string, enterprise: string, token: string): Letter {
  const name = enterprise.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, MAX_NAME)
  return {
    to,
    subject: 'You are invited to Sluice',
    text: [
      `You are invited to become a member of ${name}.`,
      '',
      'Log in, or make an account, and give this token, which is good for seven days and for you alone:',
      '',
      `    ${token}`,
      '',
    ].join('\n'),
  }
}
