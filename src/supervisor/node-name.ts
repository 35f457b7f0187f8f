import { randomUUID } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The name of the node that owns a data directory, made once: journal offsets in a shared database are kept under it. */
export async function nodeName(dataDir: string): Promise<string> {
  const path = join(dataDir, 'node')
  try {
    await writeFile(path, `${randomUUID()}\n`, { flag: 'wx', mode: 0o600 })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause
  }
  return (await readFile(path, 'utf8')).trim()
}
