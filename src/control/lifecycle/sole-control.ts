import { setTimeout as elapsed } from 'node:timers/promises'
import { controlDirectory, lockDataDirectory } from '../../shared/runtime/data-directory.ts'
import type { DataDirectoryLock } from '../../shared/runtime/data-directory.ts'

const RETRY_MS = 50

/**
 * Resolves when no other control process works on this data directory. The other one ends by
 * itself after its supervisor was killed, and on request when its gateway hands over. The next supervisor does not wait for this, and
 * two control processes would destroy an embedded database. Rejects when the other one has not ended within `patienceMs`.
 */
export async function becomeSoleControl(dataDir: string, patienceMs: number): Promise<DataDirectoryLock> {
  const endMs = Date.now() + patienceMs
  for (;;) {
    try {
      return await lockDataDirectory(controlDirectory(dataDir))
    } catch (cause) {
      if (Date.now() >= endMs) throw cause
    }
    await elapsed(RETRY_MS)
  }
}
