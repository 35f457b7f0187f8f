import { Button, Menu, SegmentedControl, Select } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { useRead } from '../../api/queries.ts'
import { exact } from '../../format/numbers.ts'
import { enterpriseIdOf } from '../../parts/enterprise.ts'
import { Icon } from '../../parts/icons.tsx'
import { Page } from '../../parts/page.tsx'
import { useRowKeys } from '../../parts/row-keys.ts'
import { saveFile } from '../../parts/save-file.ts'
import { SearchField } from '../../parts/search-field.tsx'
import { Empty, Failed } from '../../parts/states.tsx'
import { Table, TableSkeleton } from '../../parts/table.tsx'
import type { Column } from '../../parts/table.tsx'
import { toast } from '../../parts/toasts.tsx'
import { useUrlState } from '../../parts/url-state.ts'
import { useSubmission } from '../../parts/submission.ts'
import { told } from '../../parts/told.ts'
import { Nothing, Time, useLocale } from '../../parts/values.tsx'
import { pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import { auditPage, MAX_EXPORTED, readAll } from './audit-calls.ts'
import type { AuditEntry, AuditQuery } from './audit-calls.ts'
import { AuditPanel } from './audit-panel.tsx'
import { csvOf, ndjsonOf } from './csv.ts'
import { Outcome } from './outcome.tsx'
import { OPERATIONS, useAuditTexts } from './texts.ts'
import classes from '../../parts/form.module.css'

/** The most of one page of the API. */
const MAX_MEMBERS = 100
const HOUR_MS = 3_600_000
const RANGES = { '24h': 24 * HOUR_MS, '7d': 7 * 24 * HOUR_MS, '30d': 30 * 24 * HOUR_MS } as const
type Range = keyof typeof RANGES

export function AuditPage({ scope, open }: PageProps): ReactNode {
  const t = useWords('audit')
  const common = useWords('common')
  const url = useUrlState()
  const { whatOf, whoOf, targetOf } = useAuditTexts(scope)
  const id = enterpriseIdOf(scope)
  const filter = useFilter()
  const list = useInfiniteQuery({
    queryKey: ['listEnterpriseAudit', id, filter.key],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam, signal }) => auditPage(id, filter.queryNow(), pageParam, signal),
    getNextPageParam: (last) => last.next_cursor,
  })
  const rows = list.data?.pages.flatMap(({ data }) => data)
  const base = pathIn(scope, '/audit')
  useRowKeys({
    ids: (rows ?? []).map((row) => row.id),
    openId: open,
    onOpen: (next) => {
      url.go(`${base}/${encodeURIComponent(next)}`, open === null ? 'push' : 'replace')
    },
    onEnd: () => {
      if (list.hasNextPage && !list.isFetchingNextPage) void list.fetchNextPage()
    },
  })
  const columns: ReadonlyArray<Column<AuditEntry>> = [
    {
      id: 'what',
      head: t('columns.what'),
      width: 'minmax(170px, 1.6fr)',
      cell: (row) => <span title={row.operation}>{whatOf(row.operation)}</span>,
    },
    {
      id: 'who',
      head: t('columns.who'),
      width: 'minmax(120px, 1fr)',
      onPhone: true,
      cell: (row) => whoOf(row) ?? <Nothing why={t('nobody')} />,
    },
    {
      id: 'target',
      head: t('columns.target'),
      width: 'minmax(120px, 1fr)',
      cell: (row) => targetOf(row) ?? <Nothing why={t('noTarget')} />,
    },
    {
      id: 'changes',
      head: t('columns.changes'),
      width: 'minmax(120px, 1.4fr)',
      cell: ({ changes }) =>
        changes === null || changes.length === 0 ? (
          <Nothing why={t('noChanges')} />
        ) : (
          <span className="muted">{changes.map(({ field }) => field).join(', ')}</span>
        ),
    },
    {
      id: 'outcome',
      head: t('columns.outcome'),
      width: '104px',
      onPhone: 'plain',
      cell: (row) => <Outcome entry={row} />,
    },
    {
      id: 'address',
      head: t('columns.address'),
      width: '120px',
      cell: ({ address }) => <span className="muted">{address}</span>,
    },
    { id: 'time', head: t('columns.time'), width: '132px', onPhone: true, cell: ({ time }) => <Time at={time} /> },
  ]
  const opened = rows?.find((row) => row.id === open)
  const clear = (
    <Button variant="default" onClick={filter.clear}>
      {common('clearFilters')}
    </Button>
  )
  return (
    <Page title={t('title')} about={t('about')} acts={<Export scope={scope} queryNow={filter.queryNow} />}>
      <Filters scope={scope} />
      {filter.isSet && <div className={classes.tools}>{clear}</div>}
      {rows === undefined && list.isError && (
        <Failed
          cause={list.error}
          retry={() => {
            void list.refetch()
          }}
        />
      )}
      {rows === undefined && list.isPending && <TableSkeleton label={common('loading')} />}
      {rows?.length === 0 &&
        (filter.isSet ? (
          <Empty icon="search" title={t('noMatch')}>
            {clear}
          </Empty>
        ) : (
          <Empty icon="clock" title={t('empty')} text={t('emptyAbout')} />
        ))}
      {rows !== undefined && rows.length > 0 && (
        <>
          <Table
            label={t('title')}
            columns={columns}
            rows={rows}
            idOf={(row) => row.id}
            hrefOf={(row) => url.at(`${base}/${encodeURIComponent(row.id)}`)}
            openId={open}
          />
          <div style={{ display: 'flex', justifyContent: 'center', padding: '12px 0 24px' }}>
            {list.hasNextPage ? (
              <Button
                variant="default"
                loading={list.isFetchingNextPage}
                onClick={() => {
                  void list.fetchNextPage()
                }}
              >
                {t('older')}
              </Button>
            ) : (
              <span className="muted note">{t('end')}</span>
            )}
          </div>
        </>
      )}
      {opened !== undefined && (
        <AuditPanel
          scope={scope}
          entry={opened}
          onClose={() => {
            url.go(base)
          }}
        />
      )}
    </Page>
  )
}

interface Filter {
  readonly isSet: boolean
  readonly key: string
  /** A relative range ends now. */
  readonly queryNow: () => AuditQuery
  readonly clear: () => void
}

const NAMES = ['user', 'operation', 'target', 'outcome', 'range'] as const

function useFilter(): Filter {
  const url = useUrlState()
  const value = (name: (typeof NAMES)[number]): string => url.query.get(name) ?? ''
  const range = rangeOf(value('range'))
  return {
    isSet: NAMES.some((name) => value(name) !== ''),
    key: NAMES.map(value).join('\n'),
    queryNow: () => {
      const outcome = value('outcome')
      return {
        ...(value('user') === '' ? {} : { user_id: value('user') }),
        ...(value('operation') === '' ? {} : { operation: value('operation') }),
        ...(value('target') === '' ? {} : { target: value('target') }),
        ...(outcome === 'done' || outcome === 'refused' ? { outcome } : {}),
        ...(range === null ? {} : { from: new Date(Date.now() - RANGES[range]).toISOString() }),
      }
    },
    clear: () => {
      url.set(Object.fromEntries(NAMES.map((name) => [name, null])))
    },
  }
}

function rangeOf(text: string): Range | null {
  return Object.hasOwn(RANGES, text) ? (text as Range) : null
}

function Filters({ scope }: { readonly scope: Scope }): ReactNode {
  const t = useWords('audit')
  const url = useUrlState()
  const { whatOf } = useAuditTexts(scope)
  const members = useRead('listMembers', { params: { id: enterpriseIdOf(scope) }, query: { limit: MAX_MEMBERS } })
  const value = (name: (typeof NAMES)[number]): string => url.query.get(name) ?? ''
  const operations = [...OPERATIONS].map((one) => ({ value: one, label: whatOf(one) }))
  operations.sort((a, b) => a.label.localeCompare(b.label))
  const known = (members.data?.data ?? []).map(({ user }) => ({ value: user.id, label: user.name }))
  const user = value('user')
  return (
    <div className={classes.tools}>
      <SearchField
        value={value('target')}
        label={t('target')}
        placeholder={t('target')}
        width={180}
        onSearch={(text) => {
          url.set({ target: text === '' ? null : text }, 'replace')
        }}
      />
      <Select
        aria-label={t('columns.who')}
        placeholder={t('everybody')}
        value={user === '' ? null : user}
        data={user === '' || known.some((one) => one.value === user) ? known : [...known, { value: user, label: user }]}
        searchable
        clearable
        w={140}
        clearButtonProps={{ 'aria-label': t('everybody') }}
        onChange={(next) => {
          url.set({ user: next })
        }}
      />
      <Select
        aria-label={t('columns.what')}
        placeholder={t('everything')}
        value={value('operation') === '' ? null : value('operation')}
        data={operations}
        searchable
        clearable
        w={190}
        clearButtonProps={{ 'aria-label': t('everything') }}
        onChange={(next) => {
          url.set({ operation: next })
        }}
      />
      <SegmentedControl
        aria-label={t('columns.outcome')}
        value={value('outcome') === '' ? 'all' : value('outcome')}
        data={(['all', 'done', 'refused'] as const).map((one) => ({ value: one, label: t(`outcomes.${one}`) }))}
        onChange={(next) => {
          url.set({ outcome: next === 'all' ? null : next })
        }}
      />
      <SegmentedControl
        aria-label={t('range')}
        value={rangeOf(value('range')) ?? 'all'}
        data={(['24h', '7d', '30d', 'all'] as const).map((one) => ({ value: one, label: t(`ranges.${one}`) }))}
        onChange={(next) => {
          url.set({ range: next === 'all' ? null : next })
        }}
      />
    </div>
  )
}

interface ExportProps {
  readonly scope: Scope
  readonly queryNow: () => AuditQuery
}

type Format = 'csv' | 'ndjson'

function Export({ scope, queryNow }: ExportProps): ReactNode {
  const t = useWords('audit')
  const locale = useLocale()
  const act = useSubmission()
  const [count, setCount] = useState(0)
  const run = (format: Format): void => {
    setCount(0)
    const work = async (): Promise<void> => {
      const rows = await readAll(enterpriseIdOf(scope), queryNow(), setCount, AbortSignal.timeout(120_000))
      const text = format === 'csv' ? csvOf(rows) : ndjsonOf(rows)
      saveFile(new Blob([text], { type: format === 'csv' ? 'text/csv' : 'application/x-ndjson' }), `audit.${format}`)
      toast(
        rows.length < MAX_EXPORTED ? 'good' : 'note',
        t(rows.length < MAX_EXPORTED ? 'exported' : 'exportedPart', { rows: exact(rows.length, locale) }),
      )
    }
    const working = work()
    void act.run(() => working)
    told(working)
  }
  return (
    <Menu>
      <Menu.Target>
        <Button variant="default" leftSection={<Icon name="download" size={14} />} disabled={act.isBusy}>
          {act.isBusy ? t('exporting', { rows: exact(count, locale) }) : t('export')}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t('exportAbout')}</Menu.Label>
        {(['csv', 'ndjson'] as const).map((format) => (
          <Menu.Item
            key={format}
            onClick={() => {
              run(format)
            }}
          >
            {t(`formats.${format}`)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
