import { expect, it } from 'vitest'
import type { GatewayError } from '../../../src/shared/core/errors.ts'
import { UpstreamReach } from '../../../src/shared/core/upstream-reach.ts'
import { VideoFetch } from '../../../src/front/videos/video-fetch.ts'
import type { UpstreamHeaders, UpstreamListener } from '../../../src/front/upstream/upstream-client.ts'

const ORIGIN = 'https://provider.test'

interface Fetched {
  /** Addresses asked, and whether with the provider's credential. */
  readonly asked: ReadonlyArray<readonly [url: string, isProvider: boolean]>
  readonly status: number | null
  readonly error: GatewayError | null
}

/** Fetches what the provider says is at `source`; `redirects` are where each address points to. */
async function fetchFrom(source: string, redirects: Readonly<Record<string, string>> = {}): Promise<Fetched> {
  const asked: Array<readonly [string, boolean]> = []
  return new Promise((resolve) => {
    let status: number | null = null
    const listener: UpstreamListener = {
      onHead: (told) => {
        status = told
      },
      onData: () => undefined,
      onEnd: () => {
        resolve({ asked, status, error: null })
      },
      onError: (error) => {
        resolve({ asked, status, error })
      },
    }
    const send = (url: URL, isProvider: boolean, hears: UpstreamListener) => {
      asked.push([url.href, isProvider])
      let isAborted = false
      queueMicrotask(() => {
        const location = redirects[url.href]
        const headers: UpstreamHeaders = location === undefined ? {} : { location }
        hears.onHead(location === undefined ? 200 : 302, headers)
        if (!isAborted) hears.onEnd()
      })
      const nothing = (): void => undefined
      return { pause: nothing, resume: nothing, progressed: nothing, abort: () => void (isAborted = true) }
    }
    new VideoFetch({ origin: ORIGIN, reach: new UpstreamReach(), find: () => Promise.resolve(source), send }, listener)
  })
}

it('shows the credential to the provider alone', async () => {
  const { asked, status } = await fetchFrom(`${ORIGIN}/v/1`, { [`${ORIGIN}/v/1`]: 'https://storage.example.com/2?s=x' })
  expect(asked).toEqual([
    [`${ORIGIN}/v/1`, true],
    ['https://storage.example.com/2?s=x', false],
  ])
  expect(status).toBe(200)
})

it('follows redirects that are relative', async () => {
  const { asked } = await fetchFrom(`${ORIGIN}/a`, { [`${ORIGIN}/a`]: '/b?c=d' })
  expect(asked.at(-1)).toEqual([`${ORIGIN}/b?c=d`, true])
})

it.each([
  'http://storage.example.com/v',
  'https://127.0.0.1/v',
  'https://[::1]/v',
  'https://169.254.169.254/latest/meta-data',
  'https://2130706433/v',
  'https://localhost/v',
  'https://metadata.google.internal/v',
  'https://printer.local/v',
  'https://storage.example.com:8443/v',
  'https://user@127.0.0.1/v',
  'file:///etc/passwd',
  'gs://bucket/v',
  'nonsense',
  '',
])('does not go to %s, told or redirected to', async (address) => {
  for (const fetched of [await fetchFrom(address), await fetchFrom(`${ORIGIN}/a`, { [`${ORIGIN}/a`]: address })]) {
    // An empty redirect is one to where it came from.
    const others = fetched.asked.filter(([url]) => url !== `${ORIGIN}/a`)
    if (address !== 'nonsense') expect(others).toEqual([])
    if (fetched.status === null) expect(fetched.error?.code).toBe('UPSTREAM_INVALID_ANSWER')
  }
})

it('gives up on redirects in a circle', async () => {
  const { asked, error } = await fetchFrom(`${ORIGIN}/a`, { [`${ORIGIN}/a`]: `${ORIGIN}/a` })
  expect(asked).toHaveLength(5)
  expect(error?.code).toBe('UPSTREAM_INVALID_ANSWER')
})
