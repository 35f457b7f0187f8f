import type { Video } from '../shared/endpoints/video.ts'
import { TimeoutError } from './errors.ts'
import { pause } from './retry.ts'

const EVERY_MS = 2_000
const TIMEOUT_MS = 15 * 60_000

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined
  /** Milliseconds between two polls; 2 000 by default. */
  readonly everyMs?: number | undefined
  /** Milliseconds for the whole wait; a quarter of an hour by default. */
  readonly timeoutMs?: number | undefined
}

/** Polls until the job is over. */
export async function waitForVideo(
  poll: (signal: AbortSignal | undefined) => Promise<Video>,
  { signal, everyMs = EVERY_MS, timeoutMs = TIMEOUT_MS }: WaitOptions,
): Promise<Video> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const video = await poll(signal)
    if (video.status === 'completed' || video.status === 'failed') return video
    if (performance.now() + everyMs >= deadline) {
      throw new TimeoutError(`The video ${video.id} is still ${video.status} after ${timeoutMs} ms.`)
    }
    await pause(everyMs, signal)
  }
}
