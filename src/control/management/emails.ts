import type { Letter } from './mailer.ts'

const MAX_NAME = 100

/**
 * Returns the e-mail of an invitation, with the token alone where the address of the console is not known. Its headers contain no text that
 * other users chose.
 */
export function invitationEmail(
  to: string,
  enterprise: string,
  { token, consoleUrl }: { readonly token: string; readonly consoleUrl: string | null },
): Letter {
  const name = enterprise.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, MAX_NAME)
  const way =
    consoleUrl === null
      ? [
          'Log in, or make an account, and give this token, which is good for seven days and for you alone:',
          '',
          `    ${token}`,
        ]
      : [
          'This link accepts the invitation, within seven days and for you alone. You log in there, or make an account:',
          '',
          `    ${consoleUrl}/invitation#token=${token}`,
        ]
  return {
    to,
    subject: 'You are invited to Sluice',
    text: [`You are invited to become a member of ${name}.`, '', ...way, ''].join('\n'),
  }
}

/** Returns the e-mail with the link that resets a password. */
export function passwordResetEmail(to: string, link: string): Letter {
  return {
    to,
    subject: 'Reset your password for Sluice',
    text: [
      'Somebody asked to reset the password of your account. This link sets a new one, once, within 30 minutes:',
      '',
      `    ${link}`,
      '',
      'If it was not you, ignore this e-mail: your password stays as it is.',
      '',
    ].join('\n'),
  }
}

/** Returns the e-mail with the link that verifies the address. */
export function verificationEmail(to: string, link: string): Letter {
  return {
    to,
    subject: 'Verify your e-mail address for Sluice',
    text: [
      'This address was entered for an account. This link verifies it, once and within 24 hours, for the user of that account,',
      'who has to be logged in:',
      '',
      `    ${link}`,
      '',
      'If it was not you, ignore this e-mail.',
      '',
    ].join('\n'),
  }
}
