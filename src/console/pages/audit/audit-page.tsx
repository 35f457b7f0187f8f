import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Page } from '../../parts/page.tsx'
import { useRowKeys } from '../../parts/row-keys.ts'
import { Empty, Failed } from '../../parts/states.tsx'
import { Table, TableSkeleton } from '../../parts/table.tsx'
import type { Column } from '../../parts/table.tsx'
import { useUrlState } from '../../parts/url-state.ts'
import { Nothing, Time } from '../../parts/values.tsx'
import { pathIn } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import { auditPage } from './audit-calls.ts'
import type { AuditEntry } from './audit-calls.ts'
import { AuditPanel } from './audit-panel.tsx'
import { ExportAudit } from './export-audit.tsx'
import { useFilter } from './filter.ts'
import { Filters } from './filters.tsx'
import { Outcome } from './outcome.tsx'
import { useAuditTexts } from './texts.ts'
import classes from '../../parts/form.module.css'

/** The audit log of an enterprise or of the platform: changes with their authors, old and new values, and refused attempts. */
export function AuditPage({ scope, open }: PageProps): ReactNode {
  const t = useWords('audit')
  const common = useWords('common')
  const url = useUrlState()
  const { whatOf, whoOf, targetOf, enterpriseOf } = useAuditTexts(scope)
  const isPlatform = scope.kind === 'platform'
  const filter = useFilter(scope)
  const isOfAll = isPlatform && filter.isOfAll
  const list = useInfiniteQuery({
    queryKey: ['audit', pathIn(scope, ''), filter.key],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam, signal }) => auditPage(scope, filter.queryNow(), pageParam, signal),
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
      cell: (row) => <span title={`${whatOf(row.operation)} (${row.operation})`}>{whatOf(row.operation)}</span>,
    },
    {
      id: 'target',
      head: t('columns.target'),
      width: 'minmax(120px, 1fr)',
      onPhone: 'plain',
      cell: (row) => targetOf(row) ?? <Nothing why={t('noTarget')} />,
    },
    {
      id: 'who',
      head: t('columns.who'),
      width: 'minmax(120px, 1fr)',
      onPhone: true,
      cell: (row) => whoOf(row) ?? <Nothing why={t('nobody')} />,
    },
    ...(isOfAll
      ? [
          {
            id: 'enterprise',
            head: t('columns.enterprise'),
            width: 'minmax(110px, 1fr)',
            cell: (row: AuditEntry) => enterpriseOf(row) ?? <Nothing why={t('noEnterprise')} />,
          },
        ]
      : []),
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
    // Beside the enterprise it has no room: the panel of an entry has it.
    ...(isOfAll
      ? []
      : [
          {
            id: 'address',
            head: t('columns.address'),
            width: '120px',
            cell: ({ address }: AuditEntry) => <span className="muted">{address}</span>,
          },
        ]),
    { id: 'time', head: t('columns.time'), width: '132px', onPhone: true, cell: ({ time }) => <Time at={time} /> },
  ]
  const opened = rows?.find((row) => row.id === open)
  const clear = (
    <Button variant="default" onClick={filter.clear}>
      {common('clearFilters')}
    </Button>
  )
  return (
    <Page
      title={t('title')}
      about={t(isPlatform ? 'aboutPlatform' : 'about')}
      acts={<ExportAudit scope={scope} queryNow={filter.queryNow} />}
    >
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
          <Empty icon="clock" title={t('empty')} text={t(isPlatform ? 'emptyAboutPlatform' : 'emptyAbout')} />
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
