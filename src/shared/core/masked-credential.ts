const SHOWN = 4
/** The end of a shorter credential would reveal too much of it. */
const LEAST_LENGTH = 16

/** The end of a credential, by which people recognise it. Shows nothing of a short one, or of the JSON of a service account. */
export function maskedCredential(credential: string): string {
  const isAccount = credential.trimStart().startsWith('{')
  return isAccount || credential.length < LEAST_LENGTH ? '…' : `…${credential.slice(-SHOWN)}`
}
