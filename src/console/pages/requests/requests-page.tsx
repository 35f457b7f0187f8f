import { ActionIcon, Button } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { queryClient } from '../../api/queries.ts'
import { exact } from '../../format/numbers.ts'
import { ExportMenu } from '../../parts/export-menu.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Page } from '../../parts/page.tsx'
import { useRowKeys } from '../../parts/row-keys.ts'
import { SearchField } from '../../parts/search-field.tsx'
import { Failed } from '../../parts/states.tsx'
import { TableSkeleton } from '../../parts/table.tsx'
import { useUrlState } from '../../parts/url-state.ts'
import { useLocale } from '../../parts/values.tsx'
import { pathIn } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import { ColumnMenu, useColumns } from './column-menu.tsx'
import { ExportProgress, useExport } from './export-log.tsx'
import { AddFilter, FilterBar } from './filter-bar.tsx'
import { FILTER_NAMES, filterOf, queryOf, RANGES } from './filter.ts'
import type { FilterName } from './filter.ts'
import { Histogram } from './histogram.tsx'
import { useLog } from './log-calls.ts'
import { LogTable } from './log-table.tsx'
import { NoRows } from './no-rows.tsx'
import { RangeSelect } from './range-select.tsx'
import { RequestPanel } from './request-panel.tsx'
import { useTail } from './use-tail.ts'
import classes from './requests-page.module.css'

const TOTAL_CAP = 10_000

export function RequestsPage({ scope, open }: PageProps): ReactNode {
  const t = useWords('requests')
  const common = useWords('common')
  const locale = useLocale()
  const url = useUrlState()
  const filter = filterOf(url.query)
  const [anchor, setAnchor] = useState(() => new Date())
  const query = queryOf(filter, anchor)
  const log = useLog(scope, query)
  const [columns, setColumns] = useColumns(scope)
  const file = useExport(scope, query)
  const base = pathIn(scope, '/requests')
  const rows = log.data?.pages.flatMap(({ data }) => data) ?? []
  const hasRows = rows.length > 0
  useRowKeys({
    ids: rows.map(({ id }) => id),
    openId: open,
    onOpen: (id) => {
      url.go(`${base}/${encodeURIComponent(id)}`, open === null ? 'push' : 'replace')
    },
    onEnd: () => {
      void log.fetchNextPage()
    },
  })
  const refresh = (): void => {
    queryClient.removeQueries({ queryKey: ['log'], type: 'inactive' })
    // A fixed end does not move with the clock.
    if (filter.from === null && RANGES[filter.range] !== null) setAnchor(new Date())
    else void queryClient.resetQueries({ queryKey: ['log'] })
  }
  const clear = (): void => {
    url.set({ q: null, ...Object.fromEntries(FILTER_NAMES.map((name) => [name, null])) })
  }
  const setFilter = (name: FilterName, values: readonly string[]): void => {
    url.set({ [name]: values })
  }
  const total = log.data?.pages[0]?.total
  const tail = useTail(scope, query, log.data?.pages[0]?.data, refresh)
  return (
    <Page
      title={t('title')}
      about={t(`about.${scope.kind}`)}
      acts={
        <>
          <ExportMenu about={t('exportAbout')} isBusy={file.progress !== null} progress={null} onExport={file.start} />
          <ColumnMenu scope={scope} columns={columns} onChange={setColumns} />
        </>
      }
    >
      <div className={classes.tools}>
        <SearchField
          value={filter.search}
          label={t('search')}
          placeholder={t('search')}
          width={300}
          onSearch={(text) => {
            url.set({ q: text }, 'replace')
          }}
        />
        <RangeSelect filter={filter} url={url} />
        <AddFilter scope={scope} filter={filter} onSet={setFilter} />
        <ActionIcon
          variant="default"
          size={32}
          aria-label={t('refresh')}
          title={t('refresh')}
          loading={log.isFetching && !log.isFetchingNextPage && !log.isFetchingPreviousPage}
          onClick={refresh}
        >
          <Icon name="refresh" size={14} />
        </ActionIcon>
        {filter.to === null && (
          <Button
            variant={tail.isOn ? 'filled' : 'default'}
            aria-pressed={tail.isOn}
            title={tail.isOn ? t('live.stop') : t('live.start')}
            leftSection={<Icon name="live" size={14} />}
            onClick={tail.toggle}
          >
            {t('live.on')}
          </Button>
        )}
        <span className={classes.gap} />
        {total !== undefined && (
          <span className="muted note" role="status">
            {t('count', {
              count: total,
              shown: total >= TOTAL_CAP ? `${exact(TOTAL_CAP, locale)}+` : exact(total, locale),
            })}
          </span>
        )}
      </div>
      <FilterBar scope={scope} filter={filter} onSet={setFilter} onClear={clear} />
      <ExportProgress file={file} />
      <Histogram
        scope={scope}
        filter={filter}
        anchor={anchor}
        onSelect={(from, to) => {
          url.set({ range: null, from: from.toISOString(), to: to.toISOString() })
        }}
      />
      {tail.isLost && (
        <p className="muted note" role="status">
          {t('live.lost')}
        </p>
      )}
      <div className={classes.list}>
        {tail.held > 0 && (
          <button type="button" className={classes.held} onClick={tail.release}>
            <Icon name="arrowUp" size={12} />
            {t('live.held', { count: tail.held, shown: exact(tail.held, locale) })}
          </button>
        )}
        {!hasRows && log.isError && (
          <Failed
            cause={log.error}
            retry={() => {
              void log.refetch()
            }}
          />
        )}
        {!hasRows && log.isPending && <TableSkeleton label={common('loading')} />}
        {!hasRows && log.isSuccess && <NoRows filter={filter} url={url} onClear={clear} />}
        {hasRows && log.data !== undefined && (
          <LogTable
            key={tail.list}
            pages={log.data}
            newer={tail.newer}
            onTop={tail.onTop}
            columns={columns}
            openId={open}
            isOld={log.isPlaceholderData}
            hrefOf={({ id }) => url.at(`${base}/${encodeURIComponent(id)}`)}
            hasNext={log.hasNextPage}
            onNext={() => {
              if (!log.isFetching && !log.isError) void log.fetchNextPage()
            }}
            onPrevious={() => {
              if (!log.isFetching) void log.fetchPreviousPage()
            }}
            end={
              log.isFetchNextPageError ? (
                <Button
                  variant="default"
                  size="xs"
                  onClick={() => {
                    void log.fetchNextPage()
                  }}
                >
                  {t('nextFailed')}
                </Button>
              ) : log.hasNextPage ? (
                t('loadingMore')
              ) : (
                t('end')
              )
            }
          />
        )}
      </div>
      {open !== null && (
        <RequestPanel
          scope={scope}
          id={open}
          ids={[...tail.newer, ...rows].map(({ id }) => id)}
          onOpen={(id) => {
            url.go(`${base}/${encodeURIComponent(id)}`, 'replace')
          }}
          onClose={() => {
            url.go(base)
          }}
        />
      )}
    </Page>
  )
}
