import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ERROR_CODES } from '../../../src/shared/core/errors.ts'

const page = readSource('README.md')
const pipeline = readSource('front/gateway/pipeline.ts')
const drawing = /```\n([\s\S]*?)```/.exec(page)?.[1] ?? ''

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
  'LOGIN_FAILED',
  'LOGIN_THROTTLED',
  'ROLE_DENIED',

  'DRAINING',
])

function readSource(path: string): string {
  return readFileSync(new URL(`../../../src/${path}`, import.meta.url), 'utf8')
}

describe('src/README.md', () => {
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
