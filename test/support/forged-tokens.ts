import { createHmac } from 'node:crypto'
import type { JwtKey } from '../../src/shared/config/secrets.ts'

type Json = Readonly<Record<string, unknown>>

/** A valid token and its parts, from which forgeries are made. */
export interface GoodToken {
  readonly token: string
  readonly header: Json
  readonly claims: Json
}

const encoded = (part: string | Json): string =>
  Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url')

/** A token of these parts, signed with `hash`, whatever its header says. */
export function signed(header: string | Json, claims: string | Json, secret: Buffer | string, hash = 'sha256'): string {
  const text = `${encoded(header)}.${encoded(claims)}`
  return `${text}.${createHmac(hash, secret).update(text).digest('base64url')}`
}

export function readToken(token: string): GoodToken {
  const part = (index: number): Json =>
    JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString()) as Json
  return { token, header: part(0), claims: part(1) }
}

/** Forged tokens by their fault; those with wrong claims are signed with the true secret. */
export function forgedTokens(good: GoodToken, key: JwtKey, otherUserId: string): ReadonlyMap<string, string> {
  return new Map([
    ...forgedHeaders(good, key),
    ...forgedKeys(good, key),
    ...forgedClaims(good, key),
    ...forgedShapes(good, otherUserId),
  ])
}

function forgedHeaders({ token, header, claims }: GoodToken, { secret }: JwtKey): Array<[string, string]> {
  const unsigned = (alg: string): string => `${encoded({ ...header, alg })}.${encoded(claims)}.`
  const [, , signature = ''] = token.split('.')
  const headed = (more: Json, hash?: string): string => signed({ ...header, ...more }, claims, secret, hash)
  return [
    ...['none', 'None', 'NONE', 'nOnE', ''].map((alg): [string, string] => [`alg "${alg}"`, unsigned(alg)]),
    ['alg none with a signature', `${encoded({ ...header, alg: 'none' })}.${encoded(claims)}.${signature}`],
    ['alg none, truly signed', headed({ alg: 'none' })],
    ['HS384', headed({ alg: 'HS384' }, 'sha384')],
    ['HS512', headed({ alg: 'HS512' }, 'sha512')],
    ['HS384 in name alone', headed({ alg: 'HS384' })],
    ...['RS256', 'PS256', 'ES256', 'EdDSA'].map((alg): [string, string] => [`${alg} signed by HMAC`, headed({ alg })]),
    ['alg in lower case', headed({ alg: 'hs256' })],
    ['no alg', headed({ alg: undefined })],
    ['alg a list', headed({ alg: ['HS256'] })],
    ['alg a number', headed({ alg: 256 })],
    ['alg null', headed({ alg: null })],
    ['critical extension', headed({ crit: ['exp'], exp: 1 })],
    ['critical extension unknown', headed({ crit: ['x'], x: 1 })],
    ['unencoded payload', headed({ crit: ['b64'], b64: false })],
    ['encrypted', `${encoded({ ...header, alg: 'dir', enc: 'A256GCM' })}..AAAA.AAAA.AAAA`],
  ]
}

function forgedKeys({ header, claims }: GoodToken, { kid, secret }: JwtKey): Array<[string, string]> {
  const own = Buffer.alloc(32, 7)
  const named = (name: unknown, by: Buffer | string = secret): string => signed({ ...header, kid: name }, claims, by)
  return [
    ['signed with another secret', named(kid, own)],
    ['signed with nothing', named(kid, '')],
    ['signed with the text of the secret', named(kid, secret.toString('base64'))],
    ['signed with the name of the key', named(kid, kid)],
    ['no kid', named(undefined)],
    ['kid null', named(null)],
    ['kid of nobody', named('nobody')],
    ['kid empty', named('')],
    ['kid a list', named([kid])],
    ['kid a path', named('../../../../dev/null', '')],
    ['kid of SQL', named(`' UNION SELECT 'a' --`, 'a')],
    ['kid of a prototype', named('__proto__', '')],
    ['kid of a constructor', named('constructor', '')],
    ['kid in another case', named(inAnotherCase(kid))],
    ['kid with more behind', named(`${kid}\0`)],
    ['brings its own key', signed({ ...header, kid, jwk: { kty: 'oct', k: own.toString('base64url') } }, claims, own)],
    ['says where its key is', signed({ ...header, kid, jku: 'http://127.0.0.1:1/keys' }, claims, own)],
    ['says where its certificate is', signed({ ...header, kid, x5u: 'http://127.0.0.1:1/x' }, claims, own)],
  ]
}

function forgedClaims({ header, claims }: GoodToken, { secret }: JwtKey): Array<[string, string]> {
  const now = Math.floor(Date.now() / 1000)
  const claimed = (more: Json): string => signed(header, { ...claims, ...more }, secret)
  const generation = Number(claims['gen'])
  return [
    ['expired', claimed({ exp: now - 1 })],
    ['expired long ago', claimed({ exp: 0 })],
    ['expires before the beginning', claimed({ exp: -1 })],
    ['exp a text', claimed({ exp: String(now + 3600) })],
    ['exp null', claimed({ exp: null })],
    ['not yet good', claimed({ nbf: now + 3600 })],
    ['nbf a text', claimed({ nbf: 'x' })],
    ['iat a text', claimed({ iat: 'x' })],
    ['of another issuer', claimed({ iss: 'other' })],
    ['of several issuers', claimed({ iss: [claims['iss'], 'other'] })],
    ['for another audience', claimed({ aud: 'other' })],
    ['for no audience', claimed({ aud: [] })],
    ...['sub', 'jti', 'exp', 'iat', 'iss', 'aud', 'gen'].map((name): [string, string] => [
      `without ${name}`,
      claimed({ [name]: undefined }),
    ]),
    ...[5, true, null, {}, [claims['sub']], ''].map((sub): [string, string] => [
      `sub ${JSON.stringify(sub)}`,
      claimed({ sub }),
    ]),
    ...[5, {}, null].map((jti): [string, string] => [`jti ${JSON.stringify(jti)}`, claimed({ jti })]),
    ...[String(generation), generation - 1, generation + 1, generation + 0.5, null, 1e300].map(
      (gen): [string, string] => [`gen ${JSON.stringify(gen)}`, claimed({ gen })],
    ),
    ['of nobody', claimed({ sub: 'user_x' })],
    ['of a text with NUL', claimed({ sub: `${String(claims['sub'])}\0` })],
    ['duplicate fields, the last one bad', signed(header, duplicated(claims, '"exp":1'), secret)],
    ['claims a list', signed(header, '[]', secret)],
    ['claims null', signed(header, 'null', secret)],
    ['claims a text', signed(header, '"x"', secret)],
    ['claims no JSON', signed(header, '{', secret)],
    ['claims nothing', signed(header, '', secret)],
  ]
}

function forgedShapes({ token, header, claims }: GoodToken, otherUserId: string): Array<[string, string]> {
  const [head = '', body = '', signature = ''] = token.split('.')
  const flipped = (signature.startsWith('A') ? 'B' : 'A') + signature.slice(1)
  const another = encoded({ ...claims, sub: otherUserId })
  return [
    ['of another user under the same signature', `${head}.${another}.${signature}`],
    [
      'duplicate fields under the same signature',
      `${head}.${encoded(duplicated(claims, `"sub":"${otherUserId}"`))}.${signature}`,
    ],
    ['another header under the same signature', `${encoded({ ...header, typ: 'x' })}.${body}.${signature}`],
    ['a bit of the signature flipped', `${head}.${body}.${flipped}`],
    ['signature cut short', token.slice(0, -4)],
    ['signature missing', `${head}.${body}.`],
    ['signature and its dot missing', `${head}.${body}`],
    ['claims missing', `${head}..${signature}`],
    ['header missing', `.${body}.${signature}`],
    ['nothing but dots', '..'],
    ['one dot', '.'],
    ['more behind', `${token}AAAA`],
    ['a dot behind', `${token}.`],
    ['a part behind', `${token}.e30`],
    ['a dot before', `.${token}`],
    ['parts in another order', `${body}.${head}.${signature}`],
    ['header no JSON', `${encoded('{')}.${body}.${signature}`],
    ['header a list', `${encoded('[]')}.${body}.${signature}`],
    ['not base64', `${head}.${body}.%%%%`],
    ['a comma within', `${token},${token}`],
    ['very long', `${head}.${'A'.repeat(4_000)}.${signature}`],
    ['a word', 'admin'],
    ['null', 'null'],
  ]
}

function duplicated(claims: Json, more: string): string {
  return `${JSON.stringify(claims).slice(0, -1)},${more}}`
}

/** The name in another case. A name of digits has no other case: another name replaces it. */
function inAnotherCase(kid: string): string {
  const upper = kid.toUpperCase()
  if (upper !== kid) return upper
  return kid.toLowerCase() === kid ? `K${kid}` : kid.toLowerCase()
}
