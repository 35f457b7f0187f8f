/** A line that a coding agent sends. It changes with each request and would defeat every prompt cache. */
const BILLING_HEADER = 'x-anthropic-billing-header:'

export function isBillingHeader(text: string): boolean {
  return text.startsWith(BILLING_HEADER)
}
