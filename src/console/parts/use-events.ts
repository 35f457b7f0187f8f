import { useEffect, useEffectEvent, useState, useSyncExternalStore } from 'react'
import { ApiError, eventsOf } from '../../client/index.ts'
import type { ByteStream } from '../../client/index.ts'
import { isSilent } from '../api/queries.ts'

const AGAIN_MS = 3_000

interface EventsOptions {
  /** Another name opens the stream anew. */
  readonly name: string
  readonly isOn: boolean
  readonly open: (signal: AbortSignal) => Promise<ByteStream>
  readonly onEvent: (kind: string, data: string) => void
  /** The gateway refuses the stream. */
  readonly onRefused: (cause: unknown) => void
}

/**
 * Reads a stream of events of the gateway while the page can be seen, and connects again when it is lost. Returns whether it is lost
 * at the moment.
 */
export function useEvents({ name, isOn, open, onEvent, onRefused }: EventsOptions): boolean {
  const [isLost, setIsLost] = useState(false)
  const isSeen = useIsSeen()
  const isRunning = isOn && isSeen
  const read = useEffectEvent(async (signal: AbortSignal): Promise<void> => {
    for await (const { name: kind, data } of eventsOf(await open(signal))) {
      if (kind === 'end') return
      if (kind === 'ready') setIsLost(false)
      onEvent(kind, data)
    }
  })
  const refused = useEffectEvent(onRefused)
  useEffect(() => {
    if (!isRunning) return undefined
    const controller = new AbortController()
    const { signal } = controller
    const run = async (): Promise<void> => {
      while (!signal.aborted) {
        try {
          await read(signal)
        } catch (cause) {
          if (signal.aborted || isSilent(cause)) return
          if (cause instanceof ApiError && cause.statusCode < 500) {
            refused(cause)
            return
          }
        }
        if (signal.aborted) return
        setIsLost(true)
        await pause(AGAIN_MS, signal)
      }
    }
    void run()
    return () => {
      controller.abort()
      setIsLost(false)
    }
  }, [isRunning, name])
  return isLost
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer)
        resolve()
      },
      { once: true },
    )
  })
}

/** A page in the background costs the gateway nothing. */
function useIsSeen(): boolean {
  return useSyncExternalStore(
    (changed) => {
      document.addEventListener('visibilitychange', changed)
      return () => {
        document.removeEventListener('visibilitychange', changed)
      }
    },
    () => document.visibilityState === 'visible',
  )
}
