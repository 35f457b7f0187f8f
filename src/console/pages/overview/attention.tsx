import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useRead } from '../../api/queries.ts'
import { percent } from '../../format/numbers.ts'
import { relative } from '../../format/time.ts'
import { Badge } from '../../parts/badge.tsx'
import { Icon } from '../../parts/icons.tsx'
import type { Period } from '../../parts/periods.ts'
import type { Usage } from '../../parts/usage.ts'
import type { Load } from '../../parts/use-load.ts'
import { useLocale } from '../../parts/values.tsx'
import { mayIn, pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useZone } from '../../shell/zone.tsx'
import { useWords } from '../../words/index.ts'
import type { AttentionItem } from './attention-item.ts'
import { usePlatformAttention } from './platform-attention.ts'
import classes from './overview-page.module.css'

const HIGH_ERROR_RATE = 0.05
/** Fewer requests tell nothing. */
const LEAST_REQUESTS = 20
const NEAR = 0.8
const LOW_WALLET = 0.1
const SOON_MS = 7 * 86_400_000
const MOST_KEYS = 100
const MOST_SHOWN = 6
const STALE_MS = 60_000

interface AttentionProps {
  readonly scope: Scope
  readonly period: Period
  readonly usage: Usage | undefined
  readonly load: Load
}

/**
 * The things that somebody has to act on: the worst first, each with the place to do it. When there is none, admins of the platform are
 * told so, and others see nothing.
 */
export function Attention(props: AttentionProps): ReactNode {
  const t = useWords('overview')
  const platform = usePlatformAttention(props.scope, props.load)
  const items = [...useMoney(props.scope), ...useErrors(props), ...useKeys(props.scope), ...platform.items]
  if (items.length === 0) {
    return platform.isKnown ? (
      <p className={classes.calm}>
        <Badge tone="good" icon="check">
          {t('attention.nothing')}
        </Badge>
      </p>
    ) : null
  }
  const sorted = [...items].sort((a, b) => Number(b.tone === 'bad') - Number(a.tone === 'bad'))
  return (
    <section className={classes.attention} aria-label={t('attention.title')}>
      <ul>
        {sorted.slice(0, MOST_SHOWN).map(({ id, tone, icon, text, href }) => (
          <li key={id} data-tone={tone}>
            <Icon name={icon} />
            <Link href={href}>{text}</Link>
          </li>
        ))}
      </ul>
      {sorted.length > MOST_SHOWN && (
        <p className="muted note">{t('attention.more', { count: sorted.length - MOST_SHOWN })}</p>
      )}
    </section>
  )
}

function useErrors({ scope, period, usage }: AttentionProps): readonly AttentionItem[] {
  const t = useWords('overview')
  const locale = useLocale()
  if (usage === undefined) return []
  const { requests, errors } = usage.totals
  if (requests < LEAST_REQUESTS || errors / requests < HIGH_ERROR_RATE) return []
  return [
    {
      id: 'errors',
      tone: 'warn',
      icon: 'alert',
      text: t('attention.errors', { share: percent(errors / requests, locale) }),
      href: `${pathIn(scope, '/statistics')}?${new URLSearchParams({ range: period, group: 'status', metric: 'errors' }).toString()}`,
    },
  ]
}

function useMoney(scope: Scope): readonly AttentionItem[] {
  const t = useWords('overview')
  const locale = useLocale()
  const isAsked = scope.kind === 'enterprise' && mayIn(scope, 'wallet.read')
  const params = { id: scope.kind === 'enterprise' ? scope.id : '' }
  const wallet = useRead('getWallet', { params }, { isEnabled: isAsked, staleMs: STALE_MS }).data
  const budget = useRead('getEnterprise', { params }, { isEnabled: isAsked, staleMs: STALE_MS }).data?.spend ?? null
  const items: AttentionItem[] = []
  if (wallet?.is_prepaid === true) {
    const left = wallet.spend?.remaining ?? wallet.balance
    const href = pathIn(scope, '/wallet')
    if (left <= 0) items.push({ id: 'wallet', tone: 'bad', icon: 'alert', text: t('attention.walletEmpty'), href })
    else if (wallet.credited > 0 && left < wallet.credited * LOW_WALLET) {
      const share = percent(left / wallet.credited, locale)
      items.push({ id: 'wallet', tone: 'warn', icon: 'alert', text: t('attention.walletLow', { share }), href })
    }
  }
  if (budget?.limit !== null && budget?.limit !== undefined && budget.spent >= budget.limit * NEAR) {
    const share = percent(budget.limit === 0 ? 1 : budget.spent / budget.limit, locale)
    items.push({
      id: 'budget',
      tone: budget.spent >= budget.limit ? 'bad' : 'warn',
      icon: 'alert',
      text: t('attention.budget', { share }),
      href: `${pathIn(scope, '/statistics')}?range=30d&metric=cost`,
    })
  }
  return items
}

function useKeys(scope: Scope): readonly AttentionItem[] {
  const t = useWords('overview')
  const locale = useLocale()
  const { now } = useZone()
  const query = { limit: MOST_KEYS, sort: 'last_used', enabled: true } as const
  const own = useRead('listKeys', { query }, { isEnabled: scope.kind === 'own', staleMs: STALE_MS })
  const enterprise = useRead(
    'listEnterpriseKeys',
    { params: { id: scope.kind === 'enterprise' ? scope.id : '' }, query },
    { isEnabled: scope.kind === 'enterprise' && mayIn(scope, 'keys.read'), staleMs: STALE_MS },
  )
  const keys = (scope.kind === 'enterprise' ? enterprise : own).data?.data ?? []
  return keys.flatMap(({ id, name, spend, created_at: created, expires_at: expires }) => {
    const href = pathIn(scope, `/keys/${encodeURIComponent(id)}`)
    const items: AttentionItem[] = []
    if (spend?.limit !== null && spend?.limit !== undefined && spend.spent >= spend.limit * NEAR) {
      const share = percent(spend.limit === 0 ? 1 : spend.spent / spend.limit, locale)
      const tone = spend.spent >= spend.limit ? 'bad' : 'warn'
      items.push({ id: `${id} budget`, tone, icon: 'key', text: t('attention.keyBudget', { name, share }), href })
    }
    const leftMs = expires === null ? Infinity : Date.parse(expires) - now.getTime()
    // A key that was made for a few days ends as it should.
    const isShort = expires !== null && Date.parse(expires) - Date.parse(created) < SOON_MS
    if (leftMs > 0 && leftMs < SOON_MS && expires !== null && !isShort) {
      const when = relative(new Date(expires), { locale, now })
      items.push({
        id: `${id} end`,
        tone: 'warn',
        icon: 'clock',
        text: t('attention.keyExpires', { name, when }),
        href,
      })
    }
    return items
  })
}
