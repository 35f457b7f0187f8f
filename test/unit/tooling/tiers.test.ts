import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, inject, it } from 'vitest'
import { DOSED, filesOf, SERVER_TESTS } from '../../tiers.ts'

const FILES = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => `test/${file}`)

describe('the tiers of the tests', () => {
  it('tell this file that it is of the short one', () => {
    expect(inject('tier')).toBe('short')
  })

  it('name files that exist', () => {
    const named = [filesOf('short'), filesOf('long')]
      .flatMap((files) => Object.values(files))
      .flatMap(({ include, exclude }) => [...include, ...exclude])
      .concat(SERVER_TESTS)
      .filter((name) => !/[*{]/.test(name))
    expect(named.length).toBeGreaterThan(DOSED.length)
    expect(named.filter((file) => !existsSync(file))).toEqual([])
  })

  it('know every file that has a dose', () => {
    const dosed = FILES.filter(
      (file) =>
        !file.endsWith('.long.test.ts') &&
        /\bdose\('|inject\('tier'\) ===|\bitLater\b|\bfirstCases\b/.test(readFileSync(file, 'utf8')),
    )
    expect(dosed.sort()).toEqual([...DOSED].sort())
  })
})

describe('the unit tests', () => {
  // They share a process: what one of them changes or leaves behind, others see.
  const SHARED = FILES.filter((file) => /^test\/(unit|regressions\/translation)\//.test(file)).filter(
    (file) => file !== 'test/unit/tooling/tiers.test.ts',
  )

  it.each([
    ['start no server', /\b(startSimulator|startGateway|createServer|ScriptedServer|TestRedis|FakeRedis)\b/],
    ['start no process and no thread', /node:(child_process|worker_threads|cluster)/],
    ['open no database', /\b(openPglite|TestDatabase|createTestDatabase)\b/],
    [
      'change no module, clock or environment',
      /\bvi\.(mock|doMock|useFakeTimers|stub\w+|spyOn)\b|process\.(env\b.*[^=]=[^=]|chdir)/,
    ],
  ])('%s', (_name, pattern) => {
    expect(SHARED.length).toBeGreaterThan(100)
    expect(SHARED.filter((file) => pattern.test(readFileSync(file, 'utf8')))).toEqual([])
  })
})
