import { randomBytes, randomUUID } from 'node:crypto'
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { isObject } from './is-object.ts'
import { ConfigError } from './config-error.ts'
import { readFailure } from './read-failure.ts'
import { readEnvironment, type Env } from './env.ts'

/** A secret that signs management tokens. `kid` is its name in their header. */
export interface JwtKey {
  readonly kid: string
  readonly secret: Buffer
}

const MIN_SECRET_BYTES = 32
const KID = /^[A-Za-z0-9._-]{1,64}$/

/** The secrets of the gateway. JSON, `inspect` and strings do not show them. */
export class Secrets {
  /** Key of the HMAC under which entry API keys are stored. Changing it invalidates them all. */
  readonly keyHash: Buffer
  /** The first signs, all verify. */
  readonly jwtKeys: readonly [JwtKey, ...JwtKey[]]

  constructor(keyHash: Buffer, jwtKeys: readonly [JwtKey, ...JwtKey[]]) {
    this.keyHash = keyHash
    this.jwtKeys = jwtKeys
    Object.freeze(this)
  }

  toJSON(): string {
    return '[secrets]'
  }

  toString(): string {
    return '[secrets]'
  }

  [inspect.custom](): string {
    return '[secrets]'
  }
}

/**
 * Reads the secrets from `secrets.json` of the data directory (made 0700, the file 0600), and creates the file on the first
 * start. Of several processes that start at once, one wins and all read what it wrote. Nodes of a cluster share secrets by the
 * environment: `SLUICE_SECRET_KEY_HASH` (base64, 32 bytes or more) and `SLUICE_SECRET_JWT` (`kid:base64`, several
 * separated by commas, the first one signs). Throws ConfigError when a secret is unusable.
 */
export function loadOrCreateSecrets(dataDir: string, env: Env = {}): Secrets {
  return loadSecrets(dataDir, env) ?? withGiven(readCreated(dataDir), env)
}

/** As `loadOrCreateSecrets`, but null when the file is needed and missing. */
export function loadSecrets(dataDir: string, env: Env = {}): Secrets | null {
  const { keyHash, jwtKeys } = givenSecrets(env)
  if (keyHash !== null && jwtKeys !== null) return new Secrets(keyHash, jwtKeys)
  const stored = readStored(dataDir)
  return stored === null ? null : withGiven(stored, env)
}

/** Whether the environment, not the data directory, gives the secret under which entry API keys are stored. */
export function givesKeyHash(env: Env): boolean {
  return readEnvironment(env).secrets.keyHash !== null
}

function givenSecrets(env: Env): { readonly keyHash: Buffer | null; readonly jwtKeys: Secrets['jwtKeys'] | null } {
  const { keyHash, jwt } = readEnvironment(env).secrets
  return {
    keyHash: keyHash === null ? null : secretFromVariable('SLUICE_SECRET_KEY_HASH', keyHash),
    jwtKeys: jwt === null ? null : jwtKeysFromVariable('SLUICE_SECRET_JWT', jwt),
  }
}

function withGiven(stored: Secrets, env: Env): Secrets {
  const { keyHash, jwtKeys } = givenSecrets(env)
  return new Secrets(keyHash ?? stored.keyHash, jwtKeys ?? stored.jwtKeys)
}

function readStored(dataDir: string): Secrets | null {
  const file = join(dataDir, 'secrets.json')
  try {
    return parseSecrets(file, readFileSync(file, 'utf8'))
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new ConfigError(`cannot be read (${readFailure(cause)})`, { file })
  }
}

function readCreated(dataDir: string): Secrets {
  const file = join(dataDir, 'secrets.json')
  try {
    create(dataDir, file)
    return parseSecrets(file, readFileSync(file, 'utf8'))
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause
    throw new ConfigError(`cannot be created (${readFailure(cause)})`, { file })
  }
}

/** Creates the file whole or not at all: links a temporary file to its name, which fails when another process was first. */
function create(dataDir: string, file: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const temporary = `${file}.${process.pid}.${randomUUID()}`
  const text = JSON.stringify({
    keyHash: randomBytes(MIN_SECRET_BYTES).toString('base64'),
    jwtKeys: [{ kid: randomUUID().slice(0, 8), secret: randomBytes(MIN_SECRET_BYTES).toString('base64') }],
  })
  try {
    writeDurably(temporary, `${text}\n`)
    linkSync(temporary, file)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause
  } finally {
    rmSync(temporary, { force: true })
  }
  syncDirectory(dataDir)
}

function writeDurably(file: string, text: string): void {
  const descriptor = openSync(file, 'wx', 0o600)
  try {
    writeSync(descriptor, text)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  chmodSync(file, 0o600)
}

function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function parseSecrets(file: string, text: string): Secrets {
  const damaged = new ConfigError('is damaged; restore it from a backup, keys and tokens depend on it', { file })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The cause would quote the text.
    throw damaged
  }
  if (!isObject(value) || !Array.isArray(value['jwtKeys'])) throw damaged
  const keyHash = decodeSecret(value['keyHash'])
  const [first, ...rest] = value['jwtKeys'].map((key: unknown) => {
    const secret = isObject(key) ? decodeSecret(key['secret']) : null
    const kid = isObject(key) ? key['kid'] : null
    if (!secret || typeof kid !== 'string' || !KID.test(kid)) throw damaged
    return { kid, secret }
  })
  if (!keyHash || !first) throw damaged
  return new Secrets(keyHash, [first, ...rest])
}

function secretFromVariable(variable: string, text: string): Buffer {
  const secret = decodeSecret(text)
  if (secret) return secret
  throw new ConfigError(`must be ${MIN_SECRET_BYTES} bytes or more in base64 (openssl rand -base64 32)`, { variable })
}

function jwtKeysFromVariable(variable: string, text: string): [JwtKey, ...JwtKey[]] {
  const [first, ...rest] = text.split(',').map((part) => {
    const [, kid, encoded] = /^\s*([^:\s]+):(\S+)\s*$/.exec(part) ?? []
    const secret = decodeSecret(encoded)
    if (kid !== undefined && KID.test(kid) && secret) return { kid, secret }
    throw new ConfigError(`must be kid:secret, the secret ${MIN_SECRET_BYTES} bytes or more in base64`, { variable })
  })
  if (!first) throw new ConfigError('must not be empty', { variable })
  if (new Set([first, ...rest].map(({ kid }) => kid)).size <= rest.length) {
    throw new ConfigError('names a kid twice', { variable })
  }
  return [first, ...rest]
}

function decodeSecret(text: unknown): Buffer | null {
  if (typeof text !== 'string' || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) return null
  const bytes = Buffer.from(text, 'base64')
  return bytes.length >= MIN_SECRET_BYTES ? bytes : null
}
