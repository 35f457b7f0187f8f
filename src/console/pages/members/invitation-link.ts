/** The page at which an invitation is accepted, as in e-mails. The token is in the fragment, which no server and no log sees. */
export function invitationLink(token: string): string {
  return `${location.origin}/console/invitation#token=${encodeURIComponent(token)}`
}
