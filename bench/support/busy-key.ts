/** A request of a busy key, for measuring limits. */
export const BUSY_BODY = JSON.stringify({
  model: 'sim-gpt',
  messages: [
    { role: 'user', content: `${'The quick brown fox jumps over the lazy dog. '.repeat(10)}[[sim {"tokens":40}]]` },
  ],
})

/** Every kind of limit, none of which is reached. */
export const BUSY_LIMITS = { rpm: 50_000_000, tpm: 2_000_000_000, max_concurrency: 10_000 }
