import { useRead } from '../../api/queries.ts'
import { exact } from '../../format/numbers.ts'
import type { Load } from '../../parts/use-load.ts'
import { useLocale } from '../../parts/values.tsx'
import { pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { AttentionItem } from './attention-item.ts'

const EVERY_MS = 30_000
const MAX_UPSTREAMS = 100

interface PlatformAttention {
  readonly items: readonly AttentionItem[]
  /** False while something is not read yet: that there are no items then says nothing. */
  readonly isKnown: boolean
}

/** The things that an admin of the platform has to act on. In other scopes there are none, and nothing is read. */
export function usePlatformAttention(scope: Scope, { keys }: Pick<Load, 'keys'>): PlatformAttention {
  const t = useWords('overview')
  const locale = useLocale()
  const options = { isEnabled: scope.kind === 'platform', everyMs: EVERY_MS }
  const journal = useRead('adminJournal', {}, options)
  const upstreams = useRead('adminListUpstreams', { query: { limit: MAX_UPSTREAMS } }, options)
  const unpriced = useRead('adminListModels', { query: { prices: 'unknown', limit: 1 } }, options)
  if (scope.kind !== 'platform') return { items: [], isKnown: false }
  const count = (value: number): string => exact(value, locale)
  const items: AttentionItem[] = []
  const add = (id: string, item: Omit<AttentionItem, 'id'>): void => {
    items.push({ id, ...item, href: pathIn(scope, item.href) })
  }
  const { status, lag_seconds: lag = 0, dead_letters: letters = 0 } = journal.data ?? {}
  if (status === 'behind') {
    const text = t('attention.behind', { seconds: count(lag) })
    add('behind', { tone: 'bad', icon: 'clock', text, href: '/relay?tab=journal' })
  }
  if (letters > 0) {
    const text = t('attention.dead', { letters: count(letters) })
    add('dead', { tone: 'bad', icon: 'alert', text, href: '/relay?tab=journal' })
  }
  for (const { id, name, state, keys: all } of upstreams.data?.data ?? []) {
    const href = `/upstreams/${encodeURIComponent(id)}`
    if (state === 'invalid') {
      add(`invalid ${id}`, { tone: 'bad', icon: 'alert', text: t('attention.invalid', { name }), href })
    }
    if (all.some((key) => key.state === 'unreadable')) {
      add(`unreadable ${id}`, { tone: 'bad', icon: 'key', text: t('attention.unreadable', { name }), href })
    }
  }
  for (const { provider_id: provider, upstream_key_id: key, state } of keys.values()) {
    const href = `/upstreams/${encodeURIComponent(provider)}`
    const id = `${state} ${provider} ${key}`
    if (state === 'breaker-open') {
      add(id, { tone: 'bad', icon: 'power', text: t('attention.paused', { key, provider }), href })
    }
    if (state === 'cooling' || state === 'half-open') {
      add(id, { tone: 'warn', icon: 'power', text: t(`attention.${state}`, { key, provider }), href })
    }
  }
  const models = unpriced.data?.total ?? 0
  if (models > 0) {
    const text = t('attention.unpriced', { models: count(models) })
    add('unpriced', { tone: 'warn', icon: 'cube', text, href: '/models?prices=unknown' })
  }
  return {
    items,
    isKnown: journal.data !== undefined && upstreams.data !== undefined && unpriced.data !== undefined,
  }
}
