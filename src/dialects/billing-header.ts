/** A line of a coding agent's that changes from request to request and would defeat every prompt cache. */
const BILLING_HEADER = 'x-anthropic-billing-header:'

export function isBillingHeader(text: string): boolean {
  return text.startsWith(BILLING_HEADER)
}
