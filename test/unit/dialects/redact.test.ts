import { describe, expect, it } from 'vitest'
import { redactUpstreamText } from '../../../src/dialects/common/redact.ts'
import { dialectOf } from '../../../src/dialects/codecs.ts'
import fc from '../../support/fast-check.ts'
import { loadFixtures } from '../../support/recorded-fixtures.ts'

const redact = (text: string, secrets: string[] = []): string => redactUpstreamText(text, secrets)

describe('redactUpstreamText', () => {
  it.each([
    ['Incorrect API key provided: sk-proj-abcd1234efgh5678.', 'sk-proj'],
    ['Incorrect API key provided: sk-ab***********wxyz. See there.', 'wxyz'],
    ['Your api key: ****-key is invalid', '*-key'],
    ['Rate limit reached in organization org-AbCdEf123456 on tokens', 'org-AbC'],
    ['Project proj_abc123DEF has no access', 'proj_abc'],
    ['Request req_011CeEEt722rfCAcdwH1yUGv failed', 'req_011'],
    ['See https://platform.openai.com/account/api-keys for more', 'platform'],
    ['connect to api.openai.com:443 failed', 'openai.com'],
    ['upstream my-resource.openai.azure.com is down', 'my-resource'],
    ['no route to 10.1.2.3:8080', '10.1.2.3'],
    ['dial tcp [::1]:8080: refused', '::1'],
    ['connect ECONNREFUSED localhost:11434', '11434'],
    ['mail support@provider.example please', 'support@'],
    ['Authorization: Bearer abcdef123456789', 'abcdef123'],
    ['token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl expired', 'eyJ'],
    ['key AIzaSyA1234567890abcdefghijklmnop is invalid', 'AIza'],
    ['AKIAIOSFODNN7EXAMPLE is not authorized', 'AKIA'],
    ['key 0123456789abcdef0123456789abcdef is unknown', '0123456789abcdef'],
    ['subscription 96164522-08b2-4cbf-886e-e5a38961a688 is disabled', '96164522'],
    ['xai-abcdefghijklmnop is blocked', 'xai-'],
  ])('hides what identifies an upstream account in %j', (text, hidden) => {
    const clean = redact(text)
    expect(clean).not.toContain(hidden)
    expect(clean).toContain('[redacted]')
  })

  it.each([
    'messages.0.content.0.text.text: Field required',
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 99.0 instead.",
    "tools.0.custom.input_schema.type: Input should be 'object'",
    'prompt is too long: 208310 tokens > 200000 maximum',
    'The model `claude-3-5-sonnet-20241022` does not exist or you do not have access to it.',
    'model: gpt-4.1-mini-2025-04-14 and grok-4-1-fast-non-reasoning',
    'Thinking mode does not support this tool_choice',
  ])('leaves %j alone', (text) => {
    expect(redact(text)).toBe(text)
  })

  it('leaves one word of an address whose host it was given', () => {
    expect(redact('No such path: http://a.test:80/v1/x?y. Sorry', ['a.test:80'])).toBe('No such path: [redacted] Sorry')
  })

  const own =
    'https://cdn.example.com/a/b_(1).png?key=AKIAIOSFODNN7EXAMPLE&size=1&id=96164522-08b2-4cbf-886e-e5a38961a688'

  it.each([
    ['as it is', JSON.stringify({ url: own })],
    ['with slashes escaped', JSON.stringify({ url: own }).replaceAll('/', '\\/')],
    ['with ampersands escaped', JSON.stringify({ url: own }).replaceAll('&', '\\u0026')],
    ['with what is no letter or digit escaped', `{"url":"${own.replaceAll(/[^a-z0-9]/gi, unicodeEscape)}"}`],
  ])('leaves a URL alone that the client itself wrote, %s', (_name, body) => {
    const said = (text: string): string => redactUpstreamText(text, [], Buffer.from(body))
    expect(said(`Cannot fetch ${own}. Sorry`)).toBe(`Cannot fetch ${own}. Sorry`)
    expect(said(`<${own}>, (${own}) and "${own}/"`)).toBe(`<${own}>, (${own}) and "${own}/"`)
    expect(said(`Cannot fetch ${own.slice(0, 40)}...`)).toBe(`Cannot fetch ${own.slice(0, 40)}...`)
    expect(said(`${own} by org-AbCdEf123456 at 10.1.2.3`)).toBe(`${own} by [redacted] at [redacted]`)
    expect(said(`${own}&token=x at https://cdn.example.com/other`)).not.toContain('example.com')
  })

  it('hides the provider’s own address and credentials within a URL of the client too', () => {
    const body = Buffer.from('{"url":"https://api.provider.test/v1/files?key=secret-credential"}')
    const text = 'No file at https://api.provider.test/v1/files?key=secret-credential'
    expect(redactUpstreamText(text, ['api.provider.test', 'secret-credential'], body)).toBe('No file at [redacted]')
  })

  it('removes given secrets in any letter case, and what is left of one at the end of a cut message', () => {
    expect(redact('Key HUNTER22 of hunter22', ['hunter22'])).toBe('Key [redacted] of [redacted]')
    expect(redact('your key secret-cred', ['secret-credential-of-ours'])).toBe('your key [redacted]')
    expect(redact('a(b)c+d', ['(b)c+'])).toBe('a[redacted]d')
    expect(redact('abc', ['', 'a'])).toBe('abc')
  })

  it('never lets a given secret through, wherever it stands', () => {
    const secret = fc.string({ minLength: 4, maxLength: 40 }).filter((text) => !'[redacted]'.includes(text))
    fc.assert(
      fc.property(fc.string(), secret, fc.string(), (before, hidden, after) => {
        expect(redact(`${before} ${hidden} ${after}`, [hidden])).not.toContain(` ${hidden} `)
      }),
    )
  })

  it('leaves no URL or e-mail in any recorded error', () => {
    let seen = 0
    for (const { id, protocol, status, response } of loadFixtures((fixture) => fixture.kind === 'error')) {
      const { message } = dialectOf(protocol).readFailure(status, response)
      expect(redact(message), id).not.toMatch(/https?:|\S@\S+\.\S/)
      seen++
    }
    expect(seen).toBeGreaterThanOrEqual(46)
  })

  it('is fast on hostile texts', () => {
    for (const piece of ['a.', 'a-', '*', 'eyJaaaaa.', 'sk-', 'a@', '1.', '[:', 'aB3', 'http://']) {
      const text = piece.repeat(2000).slice(0, 4000)
      const before = process.cpuUsage()
      redact(text, ['some-secret-value'])
      const { user } = process.cpuUsage(before)
      expect(user, piece).toBeLessThan(500_000)
    }
  })
})

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

it("keeps the client's own URLs as far as the search for them is bounded", () => {
  const urls = Array.from({ length: 200 }, (_, at) => `https://files.example.com/${at}`)
  const request = Buffer.from(JSON.stringify({ urls, filling: 'x'.repeat(1_000_000) }))
  const shown = redactUpstreamText(urls.join(' '), [], request).split(' ')
  expect(shown.slice(0, 4)).toEqual(urls.slice(0, 4))
  expect(shown.slice(100)).toEqual(Array.from({ length: 100 }, () => '[redacted]'))
})
