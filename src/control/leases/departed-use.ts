import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bucketOf, WINDOW_BUCKETS } from '../../shared/core/allowance.ts'
import type { WindowCharges } from '../../shared/core/allowance.ts'

const NAME = 'departed-use.json'

/**
 * Keeps what ended fronts used of windows in the last minute. The authority of the next gateway on the data directory counts it:
 * nobody else is left to tell it.
 */
export class DepartedUse {
  #told: WindowCharges[] = []

  add(used: readonly WindowCharges[], nowMs: number): void {
    this.#told = [...this.current(nowMs), ...used]
  }

  /** Without what has left the window. */
  current(nowMs: number): WindowCharges[] {
    return this.#told.flatMap(({ allowance, limit, used }) => {
      const inWindow = used.filter(([bucket]) => isInWindow(bucket, nowMs))
      return inWindow.length === 0 ? [] : [{ allowance, limit, used: inWindow }]
    })
  }
}

function isInWindow(bucket: number, nowMs: number): boolean {
  const age = bucketOf(nowMs) - bucket
  return age >= 0 && age <= WINDOW_BUCKETS
}

/** Takes the place of what the gateway before has written. */
export async function writeDepartedUse(dataDir: string, used: readonly WindowCharges[]): Promise<void> {
  const path = join(dataDir, NAME)
  await writeFile(`${path}.new`, JSON.stringify(used), { mode: 0o600 })
  await rename(`${path}.new`, path)
}

/** Nothing where no gateway has ended in order. Rejects where the file is damaged or cannot be read. */
export async function readDepartedUse(dataDir: string): Promise<readonly WindowCharges[]> {
  const path = join(dataDir, NAME)
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw cause
  }
  const used: unknown = JSON.parse(text)
  if (!Array.isArray(used) || !used.every(isWindowCharges)) throw new Error(`${path} is damaged`)
  return used
}

function isWindowCharges(value: unknown): value is WindowCharges {
  if (typeof value !== 'object' || value === null) return false
  const { allowance, limit, used } = value as Partial<Record<keyof WindowCharges, unknown>>
  return typeof allowance === 'string' && typeof limit === 'number' && Array.isArray(used) && used.every(isCharge)
}

function isCharge(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && value.every((part) => Number.isFinite(part) && Number(part) >= 0)
}
