import { setTimeout as elapsed } from 'node:timers/promises'
import { controlDirectory, lockDataDirectory } from '../../shared/runtime/data-directory.ts'
import type { DataDirectoryLock } from '../../shared/runtime/data-directory.ts'

const RETRY_MS = 20

/**
 * Resolves when no other control process works on this data directory. The other process ends by itself after its supervisor was
 * killed, and on request when its gateway hands over. The next supervisor does not wait for that end, and two control processes
 * would destroy an embedded database. Rejects when the other process has not ended within `patienceMs`.
 *
 * @param onWaiting called once, when there is another control process
 */
export async function takeControlLock(
  dataDir: string,
  patienceMs: number,
  onWaiting: () => void,
): Promise<DataDirectoryLock> {
  const endMs = Date.now() + patienceMs
  let isWaiting = false
  for (;;) {
    try {
      return await lockDataDirectory(controlDirectory(dataDir))
    } catch (cause) {
      if (Date.now() >= endMs) throw cause
      if (!isWaiting) onWaiting()
      isWaiting = true
    }
    await elapsed(RETRY_MS)
  }
}
