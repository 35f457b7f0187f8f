import { useState } from 'react'
import type { ResultOf } from '../../client/index.ts'
import { call } from '../api/session.ts'
import { useEvents } from './use-events.ts'

type Relay = ResultOf<'adminRelayStats'>
export type RelayKey = Relay['upstream_keys'][number]
/** The present state of an upstream key. */
export type LiveKey = Pick<
  RelayKey,
  'provider_id' | 'upstream_key_id' | 'state' | 'slots_used' | 'slots_held' | 'cooling_seconds'
>

export interface Load {
  /** Null: not known yet. */
  readonly now: Relay['now'] | null
  readonly keys: ReadonlyMap<string, LiveKey>
  readonly isLost: boolean
}

interface UpstreamsEvent {
  readonly data: readonly LiveKey[]
  readonly removed: ReadonlyArray<Pick<LiveKey, 'provider_id' | 'upstream_key_id'>>
}

export function keyName({ provider_id: provider, upstream_key_id: key }: UpstreamsEvent['removed'][number]): string {
  return `${provider}\0${key}`
}

/** No request has it: the stream then has the load alone. */
const NO_REQUEST = 'load-only'

interface LoadState extends Omit<Load, 'isLost'> {
  /** Takes an event of a live stream of the platform; others than those of the load are ignored. */
  readonly onEvent: (kind: string, text: string) => void
  readonly forget: () => void
}

/** The load that the events of a live stream tell. */
export function useLoadState(): LoadState {
  const [now, setNow] = useState<Relay['now'] | null>(null)
  const [keys, setKeys] = useState<ReadonlyMap<string, LiveKey>>(new Map())
  return {
    now,
    keys,
    onEvent: (kind, text) => {
      if (kind === 'ready') setKeys(new Map())
      if (kind === 'now') setNow(JSON.parse(text) as Relay['now'])
      if (kind !== 'upstreams') return
      const { data, removed } = JSON.parse(text) as UpstreamsEvent
      setKeys((before) => {
        const next = new Map(before)
        for (const one of removed) next.delete(keyName(one))
        for (const one of data) next.set(keyName(one), one)
        return next
      })
    },
    forget: () => {
      setNow(null)
    },
  }
}

/** The load of the platform and the states of its upstream keys, once a second while the page can be seen. */
export function useLoad(): Load {
  const { now, keys, onEvent, forget } = useLoadState()
  const isLost = useEvents({
    name: 'load',
    isOn: true,
    open: (signal) => call('adminLive', { query: { request_id: NO_REQUEST } }, { signal, maxRetries: 0 }),
    onEvent,
    onRefused: forget,
  })
  return { now, keys, isLost }
}
