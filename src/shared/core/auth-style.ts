/** How a credential is attached to an upstream request. */
export type AuthStyle = 'bearer' | 'x-api-key' | 'api-key' | 'x-goog-api-key' | 'aws' | 'google' | 'none'
