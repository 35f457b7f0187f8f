import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useRead } from '../../api/queries.ts'
import { exact } from '../../format/numbers.ts'
import { Badge } from '../../parts/badge.tsx'
import type { Load } from '../../parts/use-load.ts'
import { useLocale } from '../../parts/values.tsx'
import { pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import classes from './todo.module.css'

const EVERY_MS = 30_000
const MAX_UPSTREAMS = 100

interface Item {
  readonly id: string
  readonly tone: 'bad' | 'warn'
  readonly text: string
  readonly href: string
}

interface TodoProps {
  readonly scope: Scope
  readonly load: Load
}

/** The things that need somebody, the worst first; a green line where nothing does. */
export function Todo({ scope, load }: TodoProps): ReactNode {
  const t = useWords('dashboard')
  const { items, isKnown } = useItems(scope, load)
  return (
    <section className={classes.todo} aria-label={t('todo.title')}>
      {items.length === 0 ? (
        isKnown && (
          <Badge tone="good" icon="check">
            {t('todo.nothing')}
          </Badge>
        )
      ) : (
        <ul className={classes.items}>
          {items.map(({ id, tone, text, href }) => (
            <li key={id} className={classes.item} data-tone={tone}>
              <Badge tone={tone} icon="alert">
                {t(`todo.${tone}`)}
              </Badge>
              <Link href={href}>{text}</Link>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function useItems(scope: Scope, { keys }: Load): { readonly items: readonly Item[]; readonly isKnown: boolean } {
  const t = useWords('dashboard')
  const locale = useLocale()
  const journal = useRead('adminJournal', {}, { everyMs: EVERY_MS })
  const upstreams = useRead('adminListUpstreams', { query: { limit: MAX_UPSTREAMS } }, { everyMs: EVERY_MS })
  const unpriced = useRead('adminListModels', { query: { prices: 'unknown', limit: 1 } }, { everyMs: EVERY_MS })
  const at = (path: string): string => pathIn(scope, path)
  const count = (value: number): string => exact(value, locale)
  const items: Item[] = []
  const add = (id: string, tone: Item['tone'], text: string, path: string): void => {
    items.push({ id, tone, text, href: at(path) })
  }
  if (journal.data?.status === 'behind') {
    add('behind', 'bad', t('todo.behind', { seconds: count(journal.data.lag_seconds) }), '/relay?tab=journal')
  }
  if ((journal.data?.dead_letters ?? 0) > 0) {
    add('dead', 'bad', t('todo.dead', { letters: count(journal.data?.dead_letters ?? 0) }), '/relay?tab=journal')
  }
  const shown = upstreams.data?.data ?? []
  const broken = shown.filter(({ state }) => state === 'invalid')
  for (const { id, name } of broken) add(`invalid ${id}`, 'bad', t('todo.invalid', { name }), `/upstreams/${id}`)
  const unreadable = shown.filter(({ keys: all }) => all.some(({ state }) => state === 'unreadable'))
  for (const { id, name } of unreadable) {
    add(`unreadable ${id}`, 'bad', t('todo.unreadable', { name }), `/upstreams/${id}`)
  }
  const live = [...keys.values()]
  const paused = live.filter(({ state }) => state === 'breaker-open')
  const cooling = live.filter(({ state }) => state === 'cooling')
  for (const { provider_id: provider, upstream_key_id: key } of paused) {
    add(`paused ${provider} ${key}`, 'bad', t('todo.paused', { key, provider }), `/upstreams/${provider}`)
  }
  for (const { provider_id: provider, upstream_key_id: key } of cooling) {
    add(`cooling ${provider} ${key}`, 'warn', t('todo.cooling', { key, provider }), `/upstreams/${provider}`)
  }
  if ((unpriced.data?.total ?? 0) > 0) {
    add('unpriced', 'warn', t('todo.unpriced', { models: count(unpriced.data?.total ?? 0) }), '/models?prices=unknown')
  }
  return {
    items: items.toSorted((a, b) => (a.tone === b.tone ? 0 : a.tone === 'bad' ? -1 : 1)),
    isKnown: journal.data !== undefined && upstreams.data !== undefined && unpriced.data !== undefined,
  }
}
