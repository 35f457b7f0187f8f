import { ActionIcon } from '@mantine/core'
import type { ReactNode } from 'react'
import { exact } from '../format/numbers.ts'
import { useWords } from '../words/index.ts'
import { Icon } from './icons.tsx'
import { useLocale } from './values.tsx'

interface PagerProps {
  readonly page: number
  readonly limit: number
  readonly total: number
  readonly onPage: (page: number) => void
}

/** "1–50 of 213", and the pages before and after. */
export function Pager({ page, limit, total, onPage }: PagerProps): ReactNode {
  const t = useWords('common')
  const locale = useLocale()
  const first = Math.min(total, (page - 1) * limit + 1)
  const last = Math.min(total, page * limit)
  return (
    <nav
      aria-label={t('pager.label')}
      style={{ display: 'flex', alignItems: 'center', justifyContent: 'flex-end', gap: 8, padding: '12px 0 24px' }}
    >
      <span className="muted note">
        {t('pager.range', { first: exact(first, locale), last: exact(last, locale), total: exact(total, locale) })}
      </span>
      {total > limit && (
        <>
          <ActionIcon
            variant="default"
            aria-label={t('pager.previous')}
            disabled={page <= 1}
            onClick={() => {
              onPage(page - 1)
            }}
          >
            <Icon name="chevronLeft" size={14} />
          </ActionIcon>
          <ActionIcon
            variant="default"
            aria-label={t('pager.next')}
            disabled={page * limit >= total}
            onClick={() => {
              onPage(page + 1)
            }}
          >
            <Icon name="chevronRight" size={14} />
          </ActionIcon>
        </>
      )}
    </nav>
  )
}
