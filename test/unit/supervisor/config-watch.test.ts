import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { ConfigWatch, fileState } from '../../../src/supervisor/config-watch.ts'
import { temporaryDirectory } from '../config/load.ts'

function watched(text: string): { file: string; watch: ConfigWatch; changes: () => number } {
  const file = join(temporaryDirectory(), 'sluice.yaml')
  writeFileSync(file, text)
  let changes = 0
  const onFault = (cause: unknown): never => {
    throw cause
  }
  const watch = new ConfigWatch(new Map([[file, fileState(file)]]), () => (changes += 1), onFault)
  onTestFinished(() => {
    watch.stop()
  })
  return { file, watch, changes: () => changes }
}

it('tells once of a change, when the file has stayed the same for one look', async () => {
  const { file, watch, changes } = watched('a')
  await watch.look()
  await watch.look()
  expect(changes()).toBe(0)
  for (const part of ['first', 'first half', 'first half, second half']) {
    writeFileSync(file, part)
    await watch.look()
  }
  expect(changes()).toBe(0)
  for (let times = 0; times < 4; times++) await watch.look()
  expect(changes()).toBe(1)
})

it('tells of a file that changed between its reading and the first look', async () => {
  const { file, watch, changes } = watched('a')
  const states = new Map([[file, fileState(file)]])
  writeFileSync(file, 'changed meanwhile')
  watch.follow(states)
  await watch.look()
  await watch.look()
  expect(changes()).toBe(1)
})

it('tells of a file that is replaced, goes or comes, and bears a directory that is no file', async () => {
  const { file, watch, changes } = watched('a')
  const look = async (): Promise<number> => {
    await watch.look()
    await watch.look()
    return changes()
  }
  writeFileSync(`${file}.new`, 'b')
  renameSync(`${file}.new`, file)
  expect(await look()).toBe(1)
  rmSync(file)
  expect(await look()).toBe(2)
  writeFileSync(file, 'c')
  expect(await look()).toBe(3)
  watch.follow(new Map([[join(file, 'below'), fileState(join(file, 'below'))]]))
  expect(await look()).toBe(3)
})
