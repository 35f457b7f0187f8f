import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import { transfersOf, unpooled } from '../../shared/runtime/body-buffers.ts'
import type { BodyTask, PackedBody } from './body-task.ts'
import type { BodyPacker } from './captures.ts'

const TASK_TIMEOUT_MS = 5_000
const WORKER_MEMORY_MB = 256

/** Redacts and seals bodies in one thread, off the event loop of the control process. Callers wait for one task each. */
export class BodyPool implements BodyPacker {
  readonly #pool = new Piscina({
    filename: fileURLToPath(new URL(`./body-worker${extname(import.meta.url)}`, import.meta.url)),
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: 60_000,
    resourceLimits: { maxOldGenerationSizeMb: WORKER_MEMORY_MB },
  })

  /** Rejects when the worker fails, or is not done in time. */
  async pack(task: BodyTask): Promise<PackedBody> {
    const signal = AbortSignal.timeout(TASK_TIMEOUT_MS)
    // A view would take the whole frame along, of which it is a part.
    const bytes = unpooled(task.bytes)
    const own = { ...task, bytes, dataKey: new Uint8Array(task.dataKey) }
    return (await this.#pool.run(own, { name: 'pack', signal, transferList: transfersOf(bytes) })) as PackedBody
  }

  async close(): Promise<void> {
    await this.#pool.destroy()
  }
}
