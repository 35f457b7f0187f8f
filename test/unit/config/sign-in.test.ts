import { inspect } from 'node:util'
import { expect, it } from 'vitest'
import { read } from './load.ts'

const OIDC = 'issuer: https://login.example.com, client_id: a, client_secret: CANARY'
const signIn = (oidc: string, more = 'server: {base_url: https://ai.example.com/x/}', auth = '') =>
  read({ yaml: `${more}\nauth: {${auth}oidc: {${oidc}}}` }).signIn

it('has a console under the base address, and no provider, by default', () => {
  expect(read({ yaml: '' }).signIn).toEqual({ consoleUrl: null, oidc: null })
  expect(read({ yaml: 'server: {base_url: https://ai.example.com/}' }).signIn.consoleUrl).toBe(
    'https://ai.example.com/console',
  )
  expect(read({ yaml: 'auth: {console_url: https://console.example.com/}' }).signIn.consoleUrl).toBe(
    'https://console.example.com',
  )
})

it('reads a provider, and shows no secret of it', () => {
  const { oidc } = signIn(`${OIDC}, claims: [{claim: groups, value: x, enterprise: ent_1}]`)
  expect(oidc?.clientSecret).toBe('CANARY')
  expect(oidc).toMatchObject({
    issuer: 'https://login.example.com',
    scopes: ['openid', 'profile', 'email'],
    createUsers: true,
    label: 'login.example.com',
    mcpAudiences: ['https://ai.example.com/x/mcp', 'https://ai.example.com/x/mcp/sse'],
    mcpScopes: ['openid'],
    redirectUrl: 'https://ai.example.com/x/api/auth/oidc/callback',
    startPath: '/x/api/auth/oidc/start',
    claims: [{ claim: 'groups', value: 'x', role: null, enterprise: { id: 'ent_1', role: 'employee' } }],
  })
  expect(JSON.stringify(oidc) + inspect(oidc)).not.toContain('CANARY')
  const loopback = OIDC.replace('https://login.example.com', 'http://127.0.0.1:9000')
  expect(signIn(loopback).oidc?.issuer).toBe('http://127.0.0.1:9000')
})

it.each([
  [OIDC, '', '', 'auth.oidc needs server.base_url'],
  [OIDC.replace('https', 'http'), undefined, '', 'auth.oidc.issuer must begin with https://'],
  [
    OIDC.replace('https://login.example.com', 'http://127.0.0.1.example.com'),
    undefined,
    '',
    'must begin with https://',
  ],
  [OIDC.replace('https://login.example.com', 'https://a:b@login.example.com'), undefined, '', 'must not hold a user'],
  [`${OIDC}, scopes: [email]`, undefined, '', 'auth.oidc.scopes must contain openid'],
  [`${OIDC}, mcp_audiences: [b, a]`, undefined, '', 'auth.oidc.mcp_audiences must not contain auth.oidc.client_id'],
  [`${OIDC}, claims: [{claim: a, value: b}]`, undefined, '', 'auth.oidc.claims[0] must give a role or an enterprise'],
  [
    `${OIDC}, claims: [{claim: a, value: b, role: admin, enterprise_role: owner}]`,
    undefined,
    '',
    'needs an enterprise',
  ],
  [
    OIDC,
    undefined,
    'console_url: https://other.example.com, ',
    'auth.console_url must be on the host of server.base_url',
  ],
])('refuses %s', (oidc, more, auth, message) => {
  expect(() => signIn(oidc, more, auth)).toThrow(message)
})

it('reports all errors at once, and each once', () => {
  const errors = (yaml: string): string => {
    try {
      read({ yaml })
      return ''
    } catch (cause) {
      return String(cause)
    }
  }
  const wrong = OIDC.replace('https', 'http')
  const text = errors(
    `server: {base_url: https://a.example}\nauth: {oidc: {${wrong}, scopes: [email], claims: [{claim: a, value: b}, {claim: c, value: d}]}}`,
  )
  for (const part of ['4 errors', 'issuer must begin', 'contain openid', 'claims[0]', 'claims[1]']) {
    expect(text).toContain(part)
  }
  for (const base of ['7', 'nonsense', 'https://a:b@a.example']) {
    const told = errors(`server: {base_url: "${base}"}\nauth: {oidc: {${OIDC}}}`)
    expect(told.match(/base_url/g)).toHaveLength(1)
  }
})
