/** What came is not HTTP, or not whole. The message holds nothing of what came. */
export class HttpFault extends Error {
  override readonly name = 'HttpFault'
}
