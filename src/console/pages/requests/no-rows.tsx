import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { Empty } from '../../parts/states.tsx'
import type { UrlState } from '../../parts/url-state.ts'
import { useWords } from '../../words/index.ts'
import { isFiltered } from './filter.ts'
import type { LogFilter } from './filter.ts'

interface NoRowsProps {
  readonly filter: LogFilter
  readonly url: UrlState
  readonly onClear: () => void
}

/** An empty log: nothing yet, nothing in the range, or nothing that matches. */
export function NoRows({ filter, url, onClear }: NoRowsProps): ReactNode {
  const t = useWords('requests')
  const common = useWords('common')
  const isWhole = filter.from === null && filter.range === 'all'
  if (!isFiltered(filter) && isWhole) return <Empty icon="list" title={t('empty')} text={t('emptyAbout')} />
  return (
    <Empty
      icon={isFiltered(filter) ? 'search' : 'list'}
      title={isFiltered(filter) ? t('noMatch') : t('emptyRange')}
      {...(isFiltered(filter) ? {} : { text: t('emptyAbout') })}
    >
      {isFiltered(filter) && (
        <Button variant="default" onClick={onClear}>
          {common('clearFilters')}
        </Button>
      )}
      {!isWhole && (
        <Button
          variant="default"
          onClick={() => {
            url.set({ range: 'all', from: null, to: null })
          }}
        >
          {t('wholeTime')}
        </Button>
      )}
    </Empty>
  )
}
