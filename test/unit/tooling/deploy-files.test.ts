import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

it('runs the container as a number, which Kubernetes can tell from root', () => {
  const users = readFileSync('Dockerfile', 'utf8').match(/^USER .*$/gm)
  expect(users?.at(-1)).toMatch(/^USER [1-9]\d*:[1-9]\d*$/)
})

describe('the example of nginx', () => {
  const headers = new Map(
    [...readFileSync('config/deploy/nginx.conf', 'utf8').matchAll(/proxy_set_header (\S+) (\S+);/g)].map(
      ([, name = '', value = '']) => [name, value],
    ),
  )

  it('passes on the host with its port', () => {
    expect(headers.get('Host')).toBe('$http_host')
  })

  it('sends no header about the client that the gateway does not read', () => {
    const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => readFileSync(`src/${file}`, 'utf8'))
    const sent = [...headers.keys()].filter((name) => name.startsWith('X-'))
    expect(sent).toEqual(['X-Forwarded-For'])
    expect(sent.filter((name) => !sources.some((source) => source.includes(`'${name.toLowerCase()}'`)))).toEqual([])
  })
})
