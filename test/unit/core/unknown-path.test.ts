import { expect, it } from 'vitest'
import { createUnknownPath } from '../../../src/shared/core/unknown-path.ts'

const unknownPath = createUnknownPath(['/v1/chat/completions', '/v1/models/*'])

it('hints at the path that was meant', () => {
  expect(unknownPath('/api/chat/completions').message).toContain('send the request to /v1/chat/completions.')
})

it('looks for no hint in a path of more segments than any client sends', () => {
  const path = `${'/a'.repeat(4_000)}/v1/chat/completions`
  expect(unknownPath(path).message).toContain('GET /openapi.json lists what there is.')
})
