import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { dose, itLater } from '../../support/dose.ts'
import { askChat } from '../../support/program.ts'
import { listen, locksIn, Starts } from '../../support/starts.ts'

const starts = new Starts()
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })
let one: string

beforeAll(async () => {
  one = await starts.start(starts.directory()).ready()
})

afterAll(() => starts.remove())

itLater('takes a free port for 0, another one each time', async () => {
  const other = await starts.start(starts.directory()).ready()
  expect(one).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d+$/)
  expect(new URL(one).port).not.toBe(new URL(other).port)
  expect((await askChat(one, starts.key, 'sim-gpt')).status).toBe(200)
  expect((await askChat(other, starts.key, 'sim-gpt')).status).toBe(200)
})

itLater('says that a port is in use, and leaves the one who has it alone', async () => {
  const holder = await listen()
  const { port } = holder.address() as AddressInfo
  const directory = starts.directory()
  const program = starts.start(directory, { PORT: String(port) })
  expect(await program.ended).toBe(1)
  expect(program.stderr()).toBe(
    `sluice: port ${port} on 127.0.0.1 is in use; set PORT to another one or stop the program that has it\n`,
  )
  expect(program.stdout()).toBe('')
  expect(holder.listening).toBe(true)
  // Nothing is left behind that would keep the next one out.
  expect(locksIn(directory)).toEqual([])
  await new Promise((resolve) => holder.close(resolve))
  const url = await starts.start(directory, { PORT: String(port) }).ready()
  expect(new URL(url).port).toBe(String(port))
})

const SECTIONS = ['management', 'metrics'].slice(0, dose('SLUICE_TEST_PORT_SECTIONS', { short: 1, long: 2 }))

it.each(SECTIONS)('names the setting of a %s port that is in use, in one line', async (section) => {
  const holder = await listen()
  const { port } = holder.address() as AddressInfo
  const env = { [`SLUICE__${section.toUpperCase()}__PORT`]: String(port), LOG_LEVEL: 'info' }
  const host = { [`SLUICE__${section.toUpperCase()}__HOST`]: '127.0.0.1' }
  const program = starts.start(starts.directory(), { ...env, ...host })
  expect(await program.ended).toBe(1)
  expect(program.stderr()).toMatch(
    new RegExp(`^sluice: ${section}\\.port: cannot listen on 127\\.0\\.0\\.1:${port}: .*in use.*\\n$`),
  )
  await new Promise((resolve) => holder.close(resolve))
})

it('does not share the port of another gateway', async () => {
  const second = starts.start(starts.directory(), { PORT: new URL(one).port })
  expect(await second.ended).toBe(1)
  expect(second.stderr()).toMatch(/^sluice: port \d+ on 127\.0\.0\.1 is in use; .*\n$/)
  expect((await askChat(one, starts.key, 'sim-gpt')).status).toBe(200)
})
