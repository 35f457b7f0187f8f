import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../shared/config/config-error.ts'

/** Bits of a mode that let other users in. */
const OTHERS = 0o077

/**
 * Makes, and empties, the directory of the socket over which the processes of a gateway talk. Its name is short for any data directory,
 * because the path of a Unix socket has at most 107 bytes. The caller has the lock of the data directory: the processes that made what is
 * in there have ended or are about to end. Throws ConfigError where another user made the directory or may write to it: who can put a
 * socket there can take the place of the control process.
 */
export function makeLinkDirectory(dataDir: string, parent: string): string {
  const uid = process.getuid?.() ?? 0
  const name = createHash('sha256').update(dataDir).digest('hex').slice(0, 16)
  const directory = join(parent, `sluice-${uid}-${name}`)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const found = lstatSync(directory)
  if (!found.isDirectory() || found.uid !== uid || (found.mode & OTHERS) !== 0) {
    throw new ConfigError(
      `${directory}: is not a directory that this user alone can enter: remove it, or set TMPDIR to a directory of this user`,
    )
  }
  for (const before of readdirSync(directory)) rmSync(join(directory, before), { force: true })
  return directory
}
