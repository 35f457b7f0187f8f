import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Checkouts } from '../../../bench/support/checkouts.ts'

/** The build of the small project: its text and that of its only package. */
const BUILD = `
  const { mkdirSync, readFileSync, writeFileSync } = require('node:fs')
  mkdirSync('dist', { recursive: true })
  writeFileSync('dist/made', readFileSync('src/text', 'utf8') + require('part'))
`

let root: string
let repository: string
let checkouts: Checkouts

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-checkouts-')))
  repository = join(root, 'repository')
  write('.gitignore', 'node_modules/\ndist/\n')
  write('src/build.cjs', BUILD)
  write('part/index.js', `module.exports = ' with a part'`)
  write('part/package.json', JSON.stringify({ name: 'part', version: '1.0.0' }))
  write('node_modules/part/index.js', `module.exports = ' with the part that is installed'`)
  describePackage('1.0.0')
  git('init', '--quiet')
  commit('first')
  checkouts = new Checkouts(repository)
})

afterEach(() => {
  checkouts.remove()
  rmSync(root, { recursive: true, force: true })
})

describe('a revision', () => {
  it('is built in a worktree that links the packages of the same lockfile', () => {
    commit('second')
    const { name, folder, commit: hash } = checkouts.build('HEAD~1')
    expect(name).toBe('HEAD~1')
    expect(hash).toBe(git('rev-parse', '--short', 'HEAD~1'))
    expect(madeIn(folder)).toBe('first with the part that is installed')
    expect(existsSync(join(repository, 'dist'))).toBe(false)
  })

  it('gets its own packages when its lockfile is another, and shares them', () => {
    describePackage('2.0.0')
    commit('second')
    commit('third')
    describePackage('1.0.0')
    const [second, third] = ['HEAD~1', 'HEAD'].map((name) => checkouts.build(name).folder)
    expect([madeIn(second), madeIn(third)]).toEqual(['second with a part', 'third with a part'])
    expect(realpathSync(join(third ?? '', 'node_modules'))).toBe(join(realpathSync(second ?? ''), 'node_modules'))
  })

  it('leaves nothing behind, and the packages it shared are still there', () => {
    const { folder } = checkouts.build('HEAD')
    checkouts.remove()
    expect(existsSync(dirname(folder))).toBe(false)
    expect(git('worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(1)
    expect(existsSync(join(repository, 'node_modules/part/index.js'))).toBe(true)
  })

  it('must exist', () => {
    expect(() => checkouts.build('no-such-branch')).toThrow(/^no-such-branch is neither a folder .* nor a revision$/)
  })

  it('must build', () => {
    write('src/build.cjs', 'process.exit(3)')
    commit('second')
    expect(() => checkouts.build('HEAD')).toThrow(/^npm run --silent build failed in /)
  })
})

describe('a folder', () => {
  it('is built in place, with a word on changes that are in no commit', () => {
    const hash = git('rev-parse', '--short', 'HEAD')
    expect(checkouts.build(repository)).toEqual({ name: repository, folder: repository, commit: hash })
    write('src/text', 'changed')
    expect(checkouts.build(repository).commit).toBe(`${hash} with changes`)
    expect(madeIn(repository)).toBe('changed with the part that is installed')
    checkouts.remove()
    expect(existsSync(join(repository, 'dist/made'))).toBe(true)
  })

  it('must have its packages', () => {
    rmSync(join(repository, 'node_modules'), { recursive: true })
    expect(() => checkouts.build(repository)).toThrow(`${repository} has no node_modules: run npm ci there`)
  })
})

function madeIn(folder: string | undefined): string {
  return readFileSync(join(folder ?? '', 'dist/made'), 'utf8')
}

function write(file: string, text: string): void {
  const path = join(repository, file)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** package.json and lockfile. */
function describePackage(version: string): void {
  const described = { name: 'small', version, dependencies: { part: 'file:part' } }
  write('package.json', JSON.stringify({ ...described, scripts: { build: 'node src/build.cjs' } }))
  const packages = { '': described, part: { version: '1.0.0' }, 'node_modules/part': { resolved: 'part', link: true } }
  write('package-lock.json', JSON.stringify({ name: 'small', version, lockfileVersion: 3, requires: true, packages }))
}

function commit(text: string): void {
  write('src/text', text)
  git('add', '--all')
  const author = ['-c', 'user.name=bench', '-c', 'user.email=bench@example.com', '-c', 'commit.gpgsign=false']
  git(...author, 'commit', '--quiet', '--message', text)
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: repository, encoding: 'utf8' }).trim()
}
