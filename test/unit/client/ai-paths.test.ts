import { expect, it } from 'vitest'
import { SluiceClient } from '../../../src/client/client.ts'
import { ALL_ENDPOINTS } from '../../../src/shared/endpoints/index.ts'

/** Clients follow the link of a video. */
const NOT_CALLED = 'GET /v1/video/generations/{id}/content'

type Calls = Readonly<Record<string, (argument: unknown) => Promise<unknown>>>

it('calls each endpoint of the data plane, and nothing else', async () => {
  const asked = new Set<string>()
  const client = new SluiceClient({
    baseUrl: 'http://gateway.invalid',
    fetch: (url, { method }) => {
      asked.add(`${String(method)} ${new URL(url).pathname}`)
      return Promise.resolve(Response.json({ status: 'completed' }))
    },
  })
  const groups = Object.entries(client).filter(([name]) => name !== 'management')
  const calls = groups.flatMap(([, group]) => Object.values(group as Calls))
  // Those of streams refuse the answer.
  await Promise.allSettled(calls.map((call) => call('some-id')))

  const declared = ALL_ENDPOINTS.map(({ method, path }) => `${method} ${path}`).filter((one) => one !== NOT_CALLED)
  expect([...asked].sort()).toEqual(declared.map((one) => one.replace('{id}', 'some-id')).sort())
})
