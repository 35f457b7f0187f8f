import { parseBaseUrl } from './address.ts'
import { attempt, pathText, type Fail, type Path } from './config-error.ts'
import { redacting } from './redact.ts'
import type { ConfigFile } from './schema.ts'
import type { OidcClaimRule, OidcConfig, SignInConfig } from './shape.ts'

type OidcFile = NonNullable<ConfigFile['auth']['oidc']>

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

interface Addresses {
  /** The address at which browsers reach the gateway. */
  readonly base: string | null
  readonly console: string | null
}

/** The address of the console, and the OpenID provider. */
export function resolveSignIn(
  { auth, server }: ConfigFile,
  fail: Fail,
  isSound: (path: Path) => boolean,
): SignInConfig {
  const base = attempt(fail, () => addressOf(server.base_url, ['server', 'base_url'], fail), null)
  const own = attempt(fail, () => addressOf(auth.console_url, ['auth', 'console_url'], fail), null)
  const addresses = { base, console: own ?? (base === null ? null : `${base}/console`) }
  // Without a usable base address, the problem is told already.
  const isTold = base === null && (server.base_url !== undefined || !isSound(['server', 'base_url']))
  const { oidc } = auth
  const resolved = oidc === undefined || isTold ? null : attempt(fail, () => resolveOidc(oidc, addresses, fail), null)
  return { consoleUrl: addresses.console, oidc: resolved }
}

function resolveOidc(raw: OidcFile, addresses: Addresses, fail: Fail): OidcConfig {
  const path: Path = ['auth', 'oidc']
  const refuse = (at: Path, message: string): void => {
    attempt(fail, () => fail(at, message), undefined)
  }
  const { base } = addresses
  if (base === null) return fail(path, 'auth.oidc needs server.base_url: the provider sends browsers back to it')
  if (addresses.console !== null && new URL(addresses.console).origin !== new URL(base).origin) {
    const message =
      'auth.console_url must be on the host of server.base_url: the cookie of an OpenID log-in is bound to it'
    refuse(['auth', 'console_url'], message)
  }
  if (!raw.scopes.includes('openid')) refuse([...path, 'scopes'], 'auth.oidc.scopes must contain openid')
  const claims = raw.claims.flatMap((rule, index) =>
    attempt(fail, () => [resolveClaim(rule, [...path, 'claims', index], fail)], []),
  )
  const mcpAudiences = raw.mcp_audiences ?? [`${base}/mcp`, `${base}/mcp/sse`]
  if (mcpAudiences.includes(raw.client_id)) {
    const message = 'auth.oidc.mcp_audiences must not contain auth.oidc.client_id: ID tokens have that audience'
    refuse([...path, 'mcp_audiences'], message)
  }
  const issuer = new URL(address(raw.issuer, [...path, 'issuer'], fail))
  if (issuer.protocol === 'http:' && !LOOPBACK.test(issuer.hostname)) {
    fail([...path, 'issuer'], 'auth.oidc.issuer must begin with https://; http:// is for loopback alone')
  }
  return redacting(
    {
      issuer: raw.issuer,
      clientId: raw.client_id,
      clientSecret: raw.client_secret,
      label: raw.label ?? issuer.hostname,
      scopes: raw.scopes,
      createUsers: raw.create_users,
      claims,
      mcpAudiences,
      mcpScopes: raw.mcp_scopes,
      redirectUrl: `${base}/api/auth/oidc/callback`,
      startPath: `${new URL(base).pathname.replace(/\/$/, '')}/api/auth/oidc/start`,
    },
    ['clientSecret'],
  )
}

function resolveClaim(raw: OidcFile['claims'][number], path: Path, fail: Fail): OidcClaimRule {
  const { claim, value, role, enterprise, enterprise_role: enterpriseRole } = raw
  if (role === undefined && enterprise === undefined) fail(path, `${pathText(path)} must give a role or an enterprise`)
  if (enterprise === undefined && enterpriseRole !== undefined) {
    fail(path, `${pathText(path)}.enterprise_role needs an enterprise`)
  }
  return {
    claim,
    value,
    role: role ?? null,
    enterprise: enterprise === undefined ? null : { id: enterprise, role: enterpriseRole ?? 'employee' },
  }
}

function addressOf(text: string | undefined, path: Path, fail: Fail): string | null {
  return text === undefined ? null : address(text, path, fail)
}

function address(text: string, path: Path, fail: Fail): string {
  const parsed = parseBaseUrl(text)
  return 'url' in parsed ? parsed.url : fail(path, `${pathText(path)} ${parsed.reason}`)
}
