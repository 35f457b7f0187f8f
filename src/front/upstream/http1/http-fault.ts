/** The received bytes are not valid HTTP, or not complete. The message contains none of them. */
export class HttpFault extends Error {
  override readonly name = 'HttpFault'
}
