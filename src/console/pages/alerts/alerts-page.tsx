import { ActionIcon, Button, Menu, Tabs } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useRead } from '../../api/queries.ts'
import { enterpriseIdOf } from '../../parts/enterprise.ts'
import { Icon } from '../../parts/icons.tsx'
import { Page } from '../../parts/page.tsx'
import { useRowKeys } from '../../parts/row-keys.ts'
import { Empty, Failed } from '../../parts/states.tsx'
import { Table, TableSkeleton } from '../../parts/table.tsx'
import type { Column } from '../../parts/table.tsx'
import { useUrlState } from '../../parts/url-state.ts'
import { Nothing, Time } from '../../parts/values.tsx'
import { mayIn, pathIn } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import type { Alert } from './alert-calls.ts'
import { AlertPanel, useAlertToggle } from './alert-panel.tsx'
import { AlertState } from './alert-state.tsx'
import { CreateAlert } from './create-alert.tsx'
import { Deliveries } from './deliveries.tsx'
import { SummaryMail } from './summary-mail.tsx'
import { useAlertTexts } from './texts.ts'

const TABS = ['rules', 'deliveries', 'summary'] as const
/** An enterprise has at most this many. */
const MAX_ALERTS = 100
/** Stands in the place of an id. */
const NEW = 'new'
const EVERY_MS = 30_000

export function AlertsPage({ scope, open }: PageProps): ReactNode {
  const t = useWords('alerts')
  const url = useUrlState()
  const tab = TABS.find((one) => one === url.query.get('tab')) ?? 'rules'
  const base = pathIn(scope, '/alerts')
  const canManage = mayIn(scope, 'alerts.manage')
  const create = canManage && (
    <Button component={Link} href={`${base}/${NEW}`} leftSection={<Icon name="plus" size={14} />}>
      {t('create')}
    </Button>
  )
  return (
    <Page title={t('title')} about={t('about')} acts={create}>
      <Tabs
        value={tab}
        onChange={(value) => {
          url.go(base, 'push', { tab: value === 'rules' ? null : value, status: null, alert: null })
        }}
      >
        <Tabs.List aria-label={t('title')} style={{ marginBottom: 12 }}>
          {TABS.map((value) => (
            <Tabs.Tab key={value} value={value}>
              {t(`tabs.${value}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={tab}>
          {tab === 'rules' && <Rules scope={scope} open={open} create={create} />}
          {tab === 'deliveries' && <Deliveries scope={scope} open={open} />}
          {tab === 'summary' && <SummaryMail scope={scope} />}
        </Tabs.Panel>
      </Tabs>
      {open === NEW && canManage && (
        <CreateAlert
          scope={scope}
          onClose={() => {
            url.go(base)
          }}
        />
      )}
    </Page>
  )
}

function Rules({ scope, open, create }: PageProps & { readonly create: ReactNode }): ReactNode {
  const t = useWords('alerts')
  const common = useWords('common')
  const words = useWords('enterprise')
  const url = useUrlState()
  const { titleOf, conditionOf } = useAlertTexts()
  const toggle = useAlertToggle(scope)
  const list = useRead(
    'listAlerts',
    { params: { id: enterpriseIdOf(scope) }, query: { limit: MAX_ALERTS } },
    { everyMs: EVERY_MS },
  )
  const rows = list.data?.data
  const base = pathIn(scope, '/alerts')
  const isOpen = open !== null && open !== NEW
  useRowKeys({
    ids: (rows ?? []).map(({ id }) => id),
    openId: isOpen ? open : null,
    onOpen: (id) => {
      url.go(`${base}/${encodeURIComponent(id)}`, isOpen ? 'replace' : 'push')
    },
  })
  const columns: ReadonlyArray<Column<Alert>> = [
    { id: 'name', head: t('name'), width: 'minmax(140px, 1.4fr)', cell: titleOf },
    {
      id: 'state',
      head: t('columns.state'),
      width: '112px',
      onPhone: 'plain',
      cell: (alert) => <AlertState alert={alert} />,
    },
    {
      id: 'condition',
      head: t('columns.condition'),
      width: 'minmax(230px, 2.4fr)',
      onPhone: 'plain',
      cell: (alert) => <span title={conditionOf(alert)}>{conditionOf(alert)}</span>,
    },
    {
      id: 'receivers',
      head: t('receivers'),
      width: 'minmax(130px, 1.2fr)',
      cell: ({ channels }) => {
        const all = channels.map(({ webhook, mail }) => hostOf(webhook) ?? mail ?? '')
        return <span title={all.join('\n')}>{all.join(', ')}</span>
      },
    },
    {
      id: 'quiet',
      head: t('quiet'),
      width: '104px',
      cell: ({ quiet }) => (quiet === null ? <Nothing why={t('noQuiet')} /> : `${quiet.from}–${quiet.to}`),
    },
    {
      id: 'created',
      head: t('columns.created'),
      width: '104px',
      cell: ({ created_at: at }) => <Time at={at} isRelative />,
    },
  ]
  return (
    <>
      {rows === undefined && list.isError && (
        <Failed
          cause={list.error}
          retry={() => {
            void list.refetch()
          }}
        />
      )}
      {rows === undefined && list.isPending && <TableSkeleton label={common('loading')} />}
      {rows?.length === 0 && (
        <Empty icon="bell" title={t('empty')} text={t('emptyAbout')}>
          {create}
        </Empty>
      )}
      {rows !== undefined && rows.length > 0 && (
        <Table
          label={t('title')}
          columns={columns}
          rows={rows}
          idOf={({ id }) => id}
          hrefOf={({ id }) => url.at(`${base}/${encodeURIComponent(id)}`)}
          openId={open}
          {...(mayIn(scope, 'alerts.manage')
            ? {
                actsOf: (alert: Alert) => (
                  <Menu>
                    <Menu.Target>
                      <ActionIcon aria-label={t('actsOf', { name: titleOf(alert) })}>
                        <Icon name="more" />
                      </ActionIcon>
                    </Menu.Target>
                    <Menu.Dropdown>
                      <Menu.Item
                        leftSection={<Icon name="power" size={14} />}
                        onClick={() => {
                          toggle(alert)
                        }}
                      >
                        {alert.enabled ? words('turnOff') : words('turnOn')}
                      </Menu.Item>
                    </Menu.Dropdown>
                  </Menu>
                ),
              }
            : {})}
        />
      )}
      {isOpen && (
        <AlertPanel
          scope={scope}
          alertId={open}
          onClose={() => {
            url.go(base)
          }}
        />
      )}
    </>
  )
}

function hostOf(webhook: string | null): string | null {
  return webhook !== null && URL.canParse(webhook) ? new URL(webhook).host : webhook
}
