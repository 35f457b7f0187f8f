import { ActionIcon, Button, Checkbox, Modal, Popover, Select, TextInput } from '@mantine/core'
import { useRef, useState } from 'react'
import type { ReactNode } from 'react'
import { remember, remembered } from '../../api/preferences.ts'
import { queryClient } from '../../api/queries.ts'
import { exact } from '../../format/numbers.ts'
import { Icon } from '../../parts/icons.tsx'
import { Page } from '../../parts/page.tsx'
import { useRowKeys } from '../../parts/row-keys.ts'
import { SearchField } from '../../parts/search-field.tsx'
import { Empty, Failed } from '../../parts/states.tsx'
import { TableSkeleton } from '../../parts/table.tsx'
import { useUrlState } from '../../parts/url-state.ts'
import type { UrlState } from '../../parts/url-state.ts'
import { useLocale } from '../../parts/values.tsx'
import { pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import { columnsIn, DEFAULT_COLUMNS } from './columns.tsx'
import type { ColumnName } from './columns.tsx'
import { ExportMenu, ExportProgress, useExport } from './export-log.tsx'
import { AddFilter, FilterBar } from './filter-bar.tsx'
import { DEFAULT_RANGE, FILTER_NAMES, filterOf, isFiltered, queryOf, RANGES } from './filter.ts'
import type { FilterName, LogFilter, LogQuery, Range } from './filter.ts'
import { Histogram } from './histogram.tsx'
import { useLog } from './log-calls.ts'
import type { LogRow } from './log-calls.ts'
import { LogTable } from './log-table.tsx'
import { RequestPanel } from './request-panel.tsx'
import { useLive } from './use-live.ts'
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
          <ExportMenu file={file} />
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

/** More than this, and the list is read anew. */
const MAX_NEWER = 500
const GAP_EVERY_MS = 2_000

interface Tail {
  readonly isOn: boolean
  readonly isLost: boolean
  readonly toggle: () => void
  readonly newer: readonly LogRow[]
  /** The number of new rows that wait, because the reader has scrolled away from the first row. */
  readonly held: number
  readonly release: () => void
  readonly onTop: (isTop: boolean) => void
  /** Changes when the list starts at its first row again. */
  readonly list: number
}

interface NewRows {
  readonly shown: readonly LogRow[]
  readonly held: readonly LogRow[]
}

const NO_ROWS: NewRows = { shown: [], held: [] }

/** New requests go to the top of the list while its first row is in sight; otherwise they are counted and wait. */
function useTail(scope: Scope, query: LogQuery, first: readonly LogRow[] | undefined, refresh: () => void): Tail {
  const [isOn, setIsOn] = useState(false)
  const [isTop, setIsTop] = useState(true)
  const [rows, setRows] = useState(NO_ROWS)
  const [list, setList] = useState(0)
  const [known, setKnown] = useState(first)
  const refreshedAt = useRef(0)
  const gap = (): void => {
    if (performance.now() - refreshedAt.current < GAP_EVERY_MS || !isTop) return
    refreshedAt.current = performance.now()
    refresh()
  }
  const isLost = useLive({
    scope,
    query,
    isOn,
    onRows: (fresh) => {
      if (rows.shown.length + rows.held.length > MAX_NEWER) gap()
      setRows(({ shown, held }) =>
        isTop ? { shown: [...fresh, ...held, ...shown], held: [] } : { shown, held: [...fresh, ...held] },
      )
    },
    onGap: gap,
    onRefused: () => {
      setIsOn(false)
    },
  })
  if (known !== first) {
    // The list was read anew: it has what was new before.
    setKnown(first)
    setRows(NO_ROWS)
  }
  const ids = new Set(first?.map(({ id }) => id))
  return {
    isOn,
    isLost,
    toggle: () => {
      setIsOn(!isOn)
    },
    newer: rows.shown.filter(({ id }) => !ids.has(id)),
    held: rows.held.length,
    release: () => {
      setRows(({ shown, held }) => ({ shown: [...held, ...shown], held: [] }))
      setIsTop(true)
      setList(list + 1)
    },
    onTop: setIsTop,
    list,
  }
}

interface NoRowsProps {
  readonly filter: LogFilter
  readonly url: UrlState
  readonly onClear: () => void
}

function NoRows({ filter, url, onClear }: NoRowsProps): ReactNode {
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

const CUSTOM = 'custom'

/** A range that moves with the clock, or two fixed ends. */
function RangeSelect({ filter, url }: { readonly filter: LogFilter; readonly url: UrlState }): ReactNode {
  const t = useWords('requests')
  const common = useWords('common')
  const isFixed = filter.from !== null || filter.to !== null
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <Select
        aria-label={t('range')}
        value={isFixed ? CUSTOM : filter.range}
        data={[
          ...(Object.keys(RANGES) as Range[]).map((range) => ({ value: range, label: t(`ranges.${range}`) })),
          { value: CUSTOM, label: t('ranges.custom') },
        ]}
        w={160}
        onOptionSubmit={(value) => {
          // Chosen again, it is changed.
          if (value === CUSTOM) setIsOpen(true)
          else url.set({ range: value === DEFAULT_RANGE ? null : value, from: null, to: null })
        }}
      />
      <Modal
        opened={isOpen}
        onClose={() => {
          setIsOpen(false)
        }}
        title={t('ranges.custom')}
        size={400}
        closeButtonProps={{ 'aria-label': common('close') }}
      >
        <FixedRange
          filter={filter}
          onDone={(from, to) => {
            setIsOpen(false)
            url.set({ range: null, from, to })
          }}
        />
      </Modal>
    </>
  )
}

interface FixedRangeProps {
  readonly filter: LogFilter
  readonly onDone: (from: string | null, to: string | null) => void
}

function FixedRange({ filter, onDone }: FixedRangeProps): ReactNode {
  const t = useWords('requests')
  const [from, setFrom] = useState(filter.from ?? '')
  const [to, setTo] = useState(filter.to ?? '')
  const isTime = (text: string): boolean => text.trim() === '' || !Number.isNaN(Date.parse(text))
  const fixed = (text: string): string | null => (text.trim() === '' ? null : new Date(text).toISOString())
  return (
    <form
      className={classes.custom}
      onSubmit={(event) => {
        event.preventDefault()
        if (isTime(from) && isTime(to)) onDone(fixed(from), fixed(to))
      }}
    >
      <TextInput
        label={t('from')}
        description={t('timeHint')}
        placeholder="2026-11-25T08:00Z"
        value={from}
        error={isTime(from) ? undefined : t('timeWrong')}
        onChange={(event) => {
          setFrom(event.currentTarget.value)
        }}
      />
      <TextInput
        label={t('to')}
        placeholder="2026-11-25T20:00Z"
        value={to}
        error={isTime(to) ? undefined : t('timeWrong')}
        onChange={(event) => {
          setTo(event.currentTarget.value)
        }}
      />
      <Button type="submit">{t('apply')}</Button>
    </form>
  )
}

/** The chosen columns, which the browser remembers. */
function useColumns(scope: Scope): readonly [readonly ColumnName[], (columns: readonly ColumnName[]) => void] {
  const possible = columnsIn(scope)
  const [chosen, setChosen] = useState<readonly string[]>(
    () => remembered('columns.requests')?.split(',') ?? DEFAULT_COLUMNS,
  )
  const columns = possible.filter((name) => chosen.includes(name))
  return [
    columns.length === 0 ? DEFAULT_COLUMNS : columns,
    (next) => {
      remember('columns.requests', next.join(','))
      setChosen(next)
    },
  ]
}

interface ColumnMenuProps {
  readonly scope: Scope
  readonly columns: readonly ColumnName[]
  readonly onChange: (columns: readonly ColumnName[]) => void
}

function ColumnMenu({ scope, columns, onChange }: ColumnMenuProps): ReactNode {
  const t = useWords('requests')
  return (
    <Popover position="bottom-end" width={240} trapFocus>
      <Popover.Target>
        <Button variant="default" leftSection={<Icon name="columns" size={14} />}>
          {t('chooseColumns')}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t('chooseColumns')} mah={420} style={{ overflowY: 'auto' }}>
        <div className={classes.filterForm}>
          {columnsIn(scope).map((name) => (
            <Checkbox
              key={name}
              size="xs"
              label={t(`columns.${name}`)}
              checked={columns.includes(name)}
              // The first one is the link to the detail.
              disabled={name === 'time'}
              onChange={(event) => {
                const isOn = event.currentTarget.checked
                onChange(columnsIn(scope).filter((one) => (one === name ? isOn : columns.includes(one))))
              }}
            />
          ))}
          <Button
            variant="default"
            size="xs"
            onClick={() => {
              onChange(DEFAULT_COLUMNS)
            }}
          >
            {t('defaultColumns')}
          </Button>
        </div>
      </Popover.Dropdown>
    </Popover>
  )
}
