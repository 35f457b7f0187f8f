import { setTimeout as elapsed } from 'node:timers/promises'
import { controlDirectory, lockDataDirectory } from '../store/data-directory.ts'
import type { DataDirectoryLock } from '../store/data-directory.ts'

const RETRY_MS = 50

/**
 * Resolves when no other control process works on this data directory. One whose supervisor was killed ends by itself, and one
 * whose gateway hands over is told to, but the next supervisor starts its own before that: two in one embedded database would
 * destroy it. Rejects when the other one does not end in time.
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
