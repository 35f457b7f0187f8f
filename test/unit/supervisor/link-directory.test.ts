import { chmodSync, existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { makeLinkDirectory } from '../../../src/supervisor/link-directory.ts'
import { temporaryDirectory } from '../config/load.ts'

it('makes a directory for this user alone, and empties it', () => {
  const parent = temporaryDirectory()
  const directory = makeLinkDirectory('/data', parent)
  expect(statSync(directory).mode & 0o777).toBe(0o700)
  writeFileSync(join(directory, '1.sock'), '')
  expect(makeLinkDirectory('/data', parent)).toBe(directory)
  expect(existsSync(join(directory, '1.sock'))).toBe(false)
})

it('has another one for another data directory', () => {
  const parent = temporaryDirectory()
  expect(makeLinkDirectory('/data', parent)).not.toBe(makeLinkDirectory('/other', parent))
})

it.each([
  [
    'that others may enter',
    (directory: string) => {
      mkdirSync(directory)
      chmodSync(directory, 0o777)
    },
  ],
  [
    'that is a link to somewhere else',
    (directory: string) => {
      const elsewhere = temporaryDirectory()
      chmodSync(elsewhere, 0o700)
      symlinkSync(elsewhere, directory)
    },
  ],
])('refuses one %s, and says what to do', (_, plant) => {
  const parent = temporaryDirectory()
  const name = makeLinkDirectory('/data', temporaryDirectory()).split('/').at(-1) ?? ''
  const directory = join(parent, name)
  plant(directory)
  writeFileSync(join(directory, 'kept'), '')
  expect(() => makeLinkDirectory('/data', parent)).toThrow(
    `${directory}: is not a directory that this user alone can enter`,
  )
  expect(existsSync(join(directory, 'kept'))).toBe(true)
})
