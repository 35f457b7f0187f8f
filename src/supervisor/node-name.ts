import { randomUUID } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Returns the name of the node that owns a data directory. It is made once: a shared database keys journal offsets by it. */
export async function nodeName(dataDir: string): Promise<string> {
  const path = join(dataDir, 'node')
  try {
    await writeFile(path, `${randomUUID()}\n`, { flag: 'wx', mode: 0o600 })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause
  }
  return (await readFile(path, 'utf8')).trim()
}
