import { X509Certificate } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { access, readFile, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { loadOrCreateSecrets } from '../../shared/config/secrets.ts'
import type { Config } from '../../shared/config/shape.ts'
import { checkPort } from '../../supervisor/listen-port.ts'
import { failed, ok, reasonOf, skipped, warning } from './finding.ts'
import type { Finding } from './finding.ts'

const MIB = 1024 * 1024
const DAY_MS = 86_400_000
const RENEW_DAYS = 14
/** The first supported minor version of each supported major version. */
const SUPPORTED: Readonly<Record<number, number>> = { 20: 18, 22: 0, 24: 0, 26: 0 }

export function checkNode(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const from = SUPPORTED[major]
  if (from !== undefined && minor >= from) return ok('node', `version ${process.versions.node}`)
  return failed('node', `version ${process.versions.node} is not supported`, 'install Node 22 (or 20.18, 24, 26)')
}

/** @param holder process id of the gateway that holds the directory; null: none */
export async function checkDataDirectory({ dataDir }: Config, holder: number | null): Promise<Finding> {
  const name = 'data directory'
  if (!existsSync(dataDir)) {
    const parent = nearest(dataDir)
    return (await isWritable(parent))
      ? ok(name, `${dataDir}: the first start creates it`)
      : failed(
          name,
          `${dataDir} cannot be created: ${parent} is not writable`,
          `set SLUICE_DATA_DIR to another directory, or let this user write to ${parent}`,
        )
  }
  if (!(await isWritable(dataDir))) {
    return failed(name, `${dataDir} is not writable`, `make this user its owner: chown -R $(id -u) ${dataDir}`)
  }
  const { mode } = await stat(dataDir)
  if ((mode & 0o077) !== 0) {
    return warning(name, `${dataDir} holds secrets, and other users have access to it`, `chmod 700 ${dataDir}`)
  }
  return ok(name, holder === null ? dataDir : `${dataDir}, in use by the gateway of process ${holder}`)
}

export async function checkSecrets({ dataDir }: Config): Promise<Finding> {
  const { env } = process
  const isGiven = Boolean(env['SLUICE_SECRET_KEY_HASH']) && Boolean(env['SLUICE_SECRET_JWT'])
  if (!isGiven && !existsSync(join(dataDir, 'secrets.json'))) {
    const isFirst = !existsSync(join(dataDir, 'first-run.json'))
    if (isFirst) return ok('secrets', 'the first start creates them')
    return failed(
      'secrets',
      `${join(dataDir, 'secrets.json')} is missing`,
      'restore it from a backup: all keys depend on it',
    )
  }
  try {
    loadOrCreateSecrets(dataDir, env)
    return ok('secrets', isGiven ? 'set by environment variables' : join(dataDir, 'secrets.json'))
  } catch (cause) {
    return failed('secrets', reasonOf(cause), 'restore secrets.json from a backup: all keys depend on it')
  }
}

export async function checkDisk({ dataDir, overload, journal, server }: Config): Promise<Finding> {
  const { bavail, bsize, files, ffree } = await statfs(nearest(dataDir))
  const free = bavail * bsize
  const least = overload.minFreeDiskBytes + server.fronts * journal.reserveBytes
  const says = `${Math.floor(free / MIB)} MiB free; requests are refused below ${Math.ceil(least / MIB)} MiB`
  if (free < least) return failed('disk', says, `free space on the disk of ${dataDir}`)
  if (files > 0 && ffree === 0)
    return failed(
      'disk',
      'the file system has no free inode: no file can be created',
      `delete files on the disk of ${dataDir}`,
    )
  return free < 4 * least ? warning('disk', says, `free space on the disk of ${dataDir}`) : ok('disk', says)
}

export async function checkPorts({ server, metrics }: Config, holder: number | null): Promise<Finding[]> {
  const ports = [{ what: 'port', variable: 'PORT', host: server.host, port: server.port }]
  if (metrics.port !== null) {
    ports.push({ what: 'metrics port', variable: 'metrics.port', host: metrics.host, port: metrics.port })
  }
  return Promise.all(
    ports.map(async ({ what, variable, host, port }) => {
      if (port === 0) return ok(what, '0: the system chooses a free port')
      if (holder !== null) return skipped(what, `${port} is not checked while the gateway (process ${holder}) runs`)
      try {
        await checkPort(host, port)
        return ok(what, `${port} on ${host} is free`)
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause)
        return failed(what, reason, `set ${variable} to a free port of this machine`)
      }
    }),
  )
}

export async function checkCertificate({ server: { tls } }: Config): Promise<Finding> {
  if (tls === null) return skipped('certificate', 'TLS is not configured')
  try {
    const { validTo } = new X509Certificate(await readFile(tls.certFile))
    const days = Math.floor((Date.parse(validTo) - Date.now()) / DAY_MS)
    const fix = `renew ${tls.certFile}`
    if (days < 0) return failed('certificate', `expired on ${validTo}`, fix)
    return days < RENEW_DAYS
      ? warning('certificate', `expires in ${days} days`, fix)
      : ok('certificate', `valid until ${validTo}`)
  } catch (cause) {
    return failed(
      'certificate',
      `${tls.certFile}: ${reasonOf(cause)}`,
      'set server.tls.cert_file to a file with a PEM certificate',
    )
  }
}

/** The directory, or its nearest parent that exists. */
function nearest(directory: string): string {
  return existsSync(directory) || dirname(directory) === directory ? directory : nearest(dirname(directory))
}

async function isWritable(path: string): Promise<boolean> {
  return access(path, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
}
