import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readConfig } from '../../../src/shared/config/config.ts'
import type { Config } from '../../../src/shared/config/shape.ts'
import { generateApiKey } from '../../../src/shared/core/api-key.ts'
import type { Logger } from '../../../src/shared/telemetry/logger.ts'
import { fileState } from '../../../src/supervisor/config-watch.ts'
import type { ConfigChange } from '../../../src/supervisor/messages.ts'
import { Reload } from '../../../src/supervisor/reload.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../config/load.ts'

const KEYS = [generateApiKey(), generateApiKey()]

class Child {
  problem: string | null = null
  /** Resolves when the child may answer. */
  gate: Promise<void> = Promise.resolve()
  readonly asked: Array<{ what: string; models: string; keys: string }> = []

  async ask(what: 'prepare' | 'apply', { config }: ConfigChange): Promise<string | null> {
    await this.gate
    this.asked.push({
      what,
      models: config.upstreams.flatMap(({ models }) => models.map(({ id }) => id)).join(),
      keys: config.keys.map(({ name }) => name).join(),
    })
    return this.problem
  }

  discard(): void {
    this.asked.push({ what: 'discard', models: '', keys: '' })
  }
}

interface Line {
  readonly fields: object
  readonly text: string
}

class World {
  readonly directory = temporaryDirectory()
  readonly file = join(this.directory, 'sluice.yaml')
  readonly front = new Child()
  readonly control = new Child()
  readonly lines: Line[] = []
  readonly reload: Reload
  readings = 0

  constructor(retryMs?: number) {
    const log = (fields: object, text: string): unknown => this.lines.push({ fields, text })
    const logger = { info: log, warn: log, error: log } as unknown as Logger
    this.write(['one'], ['a'])
    const files = new Map<string, string>()
    const read = (onFile: (file: string) => void): Config => {
      this.readings += 1
      return readConfig({ env: {}, cwd: this.directory, cores: 2, onFile })
    }
    const config = read((file) => files.set(file, fileState(file)))
    const { front, control } = this
    this.reload = new Reload({
      first: { config, files },
      read,
      fronts: () => [front],
      control: () => control,
      logger,
      ...(retryMs === undefined ? {} : { retryMs }),
    })
    this.readings = 0
  }

  write(models: readonly string[], keys: readonly string[]): void {
    const upstreams = [{ id: 'u', dialect: 'openai-chat', base_url: 'https://host/v1', auth: 'none', models }]
    const entries = keys.map((name) => ({ name, key: KEYS[name === 'a' ? 0 : 1] }))
    writeFileSync(this.file, JSON.stringify({ data_dir: '/tmp/x', upstreams, keys: entries }))
  }

  get models(): string {
    return this.reload.config.upstreams.flatMap(({ models }) => models.map(({ id }) => id)).join()
  }
}

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => {
  world.reload.stop()
})

it('tells the processes in order: fronts prepare, the control process takes it, fronts take it', async () => {
  world.write(['one', 'two'], ['a', 'b'])
  await world.reload.run()
  const models = 'one,two'
  expect(world.control.asked).toEqual([{ what: 'apply', models, keys: 'a,b' }])
  expect(world.front.asked).toEqual([
    { what: 'prepare', models, keys: 'a,b' },
    { what: 'apply', models, keys: 'a,b' },
  ])
  expect(world.models).toBe(models)
})

it('takes nothing when the control process refuses, gives it the configuration before, and tries again', async () => {
  world.reload.stop()
  world = new World(1)
  world.control.problem = 'the database is away'
  world.write(['two'], ['a'])
  await world.reload.run()
  expect(world.control.asked.map(({ what, models }) => `${what} ${models}`)).toEqual(['apply two', 'apply one'])
  expect(world.front.asked.map(({ what }) => what)).toEqual(['prepare', 'discard'])
  expect(world.models).toBe('one')
  expect(world.lines).toMatchObject([
    { fields: { problem: 'the database is away', retryInMs: 1 }, text: expect.stringContaining('refused') as string },
  ])
  world.control.problem = null
  await eventually(() => {
    expect(world.models).toBe('two')
  })
})

it('takes nothing when a front cannot prepare, and does not ask the control process', async () => {
  world.front.problem = 'the certificate cannot be read'
  world.write(['two'], ['a'])
  await world.reload.run()
  expect([world.control.asked, world.models]).toEqual([[], 'one'])
})

it('sends the configuration before again after one that was refused: a part of that may have been taken', async () => {
  world.control.problem = 'no answer within 30 s'
  world.write(['one'], ['a', 'b'])
  await world.reload.run()
  world.control.problem = null
  world.write(['one'], ['a'])
  await world.reload.run()
  expect(world.control.asked.map(({ keys }) => keys)).toEqual(['a,b', 'a', 'a'])
  await world.reload.run()
  expect(world.control.asked).toHaveLength(3)
})

it('takes no file that is empty or gone', async () => {
  writeFileSync(world.file, '')
  await world.reload.run()
  rmSync(world.file)
  await world.reload.run()
  expect(world.lines.map(({ fields }) => (fields as { problem: string }).problem)).toEqual([
    expect.stringMatching(/sluice.yaml is empty$/),
    expect.stringMatching(/sluice.yaml is gone$/),
  ])
  expect([world.control.asked, world.models]).toEqual([[], 'one'])
})

it('reads once more for any number of requests during a reload', async () => {
  let open = (): void => undefined
  world.control.gate = new Promise((resolve) => (open = resolve))
  world.write(['two'], ['a'])
  const first = world.reload.run()
  await eventually(() => {
    expect(world.front.asked).toHaveLength(1)
  })
  world.write(['three'], ['a'])
  const others = Array.from({ length: 50 }, () => world.reload.run())
  open()
  await Promise.all([first, ...others])
  expect([world.readings, world.models]).toEqual([2, 'three'])
})
