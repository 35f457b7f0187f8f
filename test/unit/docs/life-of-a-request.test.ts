import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ERROR_CODES } from '../../../src/shared/core/errors.ts'

const page = readSource('README.md')
const pipeline = readSource('front/gateway/pipeline.ts')
const tree = /```\n( main\.ts [\s\S]*?)```/.exec(page)?.[1] ?? ''
const drawing = /```\n( client\n[\s\S]*?)```/.exec(page)?.[1] ?? ''

/** Codes of other planes: the page is about AI requests. */
const ELSEWHERE = new Set([
  'TOKEN_INVALID',
  'NOT_FOUND',
  'CONFLICT',
  'IDEMPOTENCY_RUNNING',
  'IDEMPOTENCY_MISMATCH',
  'PRECONDITION_FAILED',
  'INVALID_HEADER',
  'REGISTRATION_CLOSED',
  'ENTERPRISE_DISABLED',
  'INVITATION_DENIED',
  'LOGIN_FAILED',
  'LOGIN_THROTTLED',
  'EMAILS_THROTTLED',
  'ROLE_DENIED',
  'SIGNATURE_INVALID',
  'ORIGIN_DENIED',
  'AUTHORIZATION_NEEDED',
  'MAILED_TOKEN_INVALID',
  'MAIL_UNAVAILABLE',
  'CODE_REQUIRED',
  'CODE_INVALID',
  'SIGN_IN_FAILED',
  'SIGN_IN_DENIED',
  'ISSUER_UNAVAILABLE',

  'DRAINING',
])

function readSource(path: string): string {
  return readFileSync(new URL(`../../../src/${path}`, import.meta.url), 'utf8')
}

/** Files and folders as the pages name them: folders end with a slash. */
function entriesOf(folder: string): string[] {
  return readdirSync(new URL(`../../../src/${folder}`, import.meta.url), { withFileTypes: true })
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .filter((name) => name !== 'README.md')
}

describe('src/README.md', () => {
  it('names every file and folder of src in its tree, and no other', () => {
    const named = [...tree.matchAll(/^ (\S+)/gm)].map((match) => match[1])
    expect(named.sort()).toEqual(entriesOf('').sort())
  })

  it('draws the steps of the pipeline in their order', () => {
    const handle = /export async function handle\([\s\S]*?\n\}/.exec(pipeline)?.[0] ?? ''
    const called = [...handle.matchAll(/phases\.(\w+)\(/g)].map((match) => match[1])
    const steps = called.filter((step) => step !== 'fail')
    const drawn = [...drawing.matchAll(/^ (\w+) .*\.ts/gm)].map((match) => match[1])
    expect(steps.length).toBeGreaterThan(5)
    expect(drawn).toEqual(['accept', ...steps])
  })

  it('names files that exist', () => {
    const files = [...drawing.matchAll(/[a-z-]+\/[a-z*/-]+\.ts/g)].map((match) => match[0])
    expect(files.length).toBeGreaterThan(8)
    for (const file of files) {
      const path = file.replace('*', 'openai-chat')
      expect(existsSync(new URL(`../../../src/${path}`, import.meta.url)), path).toBe(true)
    }
  })

  it('gives each error code of AI requests its step, and no other code', () => {
    const listed = [...page.matchAll(/`([A-Z]+(?:_[A-Z]+)*)`/g)]
      .map((match) => match[1] ?? '')
      .filter((code) => code.includes('_') || code === 'INTERNAL' || code === 'STARTING')
    const expected = Object.keys(ERROR_CODES).filter((code) => !ELSEWHERE.has(code))
    expect(listed.sort()).toEqual(expected.sort())
  })

  it('shows the statuses of the codes at each step', () => {
    for (const [, step, codes] of page.matchAll(/^\| (\w+) \| (`.*`) \|$/gm)) {
      const statuses = [...(codes ?? '').matchAll(/`([A-Z_]+)`/g)].map(
        (match) => ERROR_CODES[match[1] as keyof typeof ERROR_CODES].status,
      )
      const start = drawing.indexOf(` ${step} `)
      if (start < 0) continue
      const next = drawing.slice(start + 1).search(/^ [a-z]+ .*\.ts/m)
      const block = next < 0 ? drawing.slice(start) : drawing.slice(start, start + 1 + next)
      for (const status of new Set(statuses)) expect(block, `${status} at ${step}`).toContain(String(status))
    }
  })
})

describe('the page of a group', () => {
  it.each(['front', 'control', 'shared'])('src/%s/README.md names every room in its table, and no other', (group) => {
    const named = [...readSource(`${group}/README.md`).matchAll(/^\| `(\S+\/)`/gm)].map((match) => match[1])
    expect(named.sort()).toEqual(
      entriesOf(group)
        .filter((name) => name.endsWith('/'))
        .sort(),
    )
  })

  it('is there for every folder of src', () => {
    const folders = entriesOf('').filter((name) => name.endsWith('/'))
    expect(folders.filter((name) => !hasPage(name))).toEqual([])
  })
})

function hasPage(folder: string): boolean {
  return existsSync(new URL(`../../../src/${folder}README.md`, import.meta.url))
}
