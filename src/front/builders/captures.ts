import { CaptureQueue } from '../capture/capture-queue.ts'
import { Captures } from '../capture/captures.ts'
import type { FrontBase } from './base.ts'

export interface FrontCaptures {
  readonly captures: Captures
  readonly queue: CaptureQueue
}

export function buildCaptures({ config, metrics, link, deadlines }: FrontBase): FrontCaptures {
  const taken = metrics.counter('capturesTaken')
  const dropped = metrics.counter('capturesDropped')
  const queue = new CaptureQueue({
    maxBytes: config.capture.bufferBytes,
    deadlines,
    send: (batch) => link.sendCaptures(batch),
    onTaken: (captures) => {
      taken.at().add(captures)
    },
    onDropped: (reason) => {
      dropped.at(reason).add(1)
    },
  })
  return { captures: new Captures(queue, config.capture.maxBodyBytes), queue }
}
