/** What a request of a busy key looks like where limits are measured. */
export const BUSY_BODY = JSON.stringify({
  model: 'sim-gpt',
  messages: [
    { role: 'user', content: `${'The quick brown fox jumps over the lazy dog. '.repeat(10)}[[sim {"tokens":40}]]` },
  ],
})

/** All kinds of limits, and none that is reached. */
export const BUSY_LIMITS = { rpm: 50_000_000, tpm: 2_000_000_000, max_concurrency: 10_000 }
