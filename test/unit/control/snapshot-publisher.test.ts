import { expect, it } from 'vitest'
import { SnapshotPublisher } from '../../../src/control/fronts/snapshot-publisher.ts'
import type { Database } from '../../../src/control/store/database.ts'
import { UpstreamBook } from '../../../src/shared/config/upstream-book.ts'
import { UpstreamReach } from '../../../src/shared/core/upstream-reach.ts'
import { Seal } from '../../../src/shared/runtime/seal.ts'
import { read } from '../config/load.ts'

const configOf = (models: string): ReturnType<typeof read> =>
  read({
    yaml: `upstreams: [{id: u, dialect: openai-chat, base_url: "https://h/v1", auth: none, models: [${models}]}]`,
  })

it('publishes the configuration before again, when a rebuild under way had published one that was taken back', async () => {
  const [before, after] = [configOf('one'), configOf('two')]
  let onQuery: () => Promise<void> = () => Promise.resolve()
  let version = 1
  const database = {
    query: async (statement: string) => {
      await onQuery()
      return statement.includes('snapshot_version') ? [{ version }] : []
    },
  } as unknown as Database
  const published: string[] = []
  const book = new UpstreamBook({
    upstreams: before.upstreams,
    simulated: [],
    facts: before.models,
    groups: [],
    timeouts: before.upstream.timeouts,
    reach: new UpstreamReach(),
  })
  const publisher = new SnapshotPublisher({
    database,
    book,
    seal: new Seal(Buffer.alloc(32), 'test'),
    mayCapture: true,
    onProblem: () => undefined,
    publish: ({ models }) => published.push(models.map(({ id }) => id).join()),
    onFault: () => undefined,
  })
  await publisher.refresh()
  expect(published).toEqual(['one'])

  version = 2
  let go = (): void => undefined
  const gate = new Promise<void>((resolve) => (go = resolve))
  onQuery = () => gate
  const underWay = publisher.refresh()
  await Promise.resolve()
  const goBack = book.configure({
    upstreams: after.upstreams,
    facts: after.models,
    groups: [],
    timeouts: after.upstream.timeouts,
  })
  const rebuilt = publisher.rebuild()
  void underWay.then(() => {
    onQuery = () => Promise.reject(new Error('the database is away'))
  })
  go()
  await expect(rebuilt).rejects.toThrow('away')
  goBack()
  onQuery = () => Promise.resolve()
  await publisher.refresh()
  expect(published).toEqual(['one', 'two', 'one'])
  await publisher.refresh()
  expect(published).toHaveLength(3)
})
