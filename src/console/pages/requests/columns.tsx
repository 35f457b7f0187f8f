import type { ReactNode } from 'react'
import { Badge } from '../../parts/badge.tsx'
import { Count, Duration, Money, Nothing, Time } from '../../parts/values.tsx'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { LogRow } from './log-calls.ts'

export const COLUMN_NAMES = [
  'time',
  'status',
  'model',
  'served',
  'key',
  'endpoint',
  'prompt',
  'completion',
  'cached',
  'reasoning',
  'cost',
  'total',
  'ttft',
  'queue',
  'overhead',
  'attempts',
  'stream',
  'agent',
  'address',
  'member',
  'department',
  'enterprise',
  'provider',
  'upstream',
  'settlement',
  'id',
] as const
export type ColumnName = (typeof COLUMN_NAMES)[number]

export const DEFAULT_COLUMNS: readonly ColumnName[] = [
  'time',
  'status',
  'model',
  'key',
  'prompt',
  'completion',
  'cost',
  'ttft',
  'total',
]

interface LogColumn {
  /** Of CSS grid. */
  readonly width: string
  readonly isNumber?: boolean
  readonly cell: (row: LogRow) => ReactNode
}

const US_PER_MS = 1_000
const ms = (us: number): ReactNode => <Duration ms={us / US_PER_MS} />

function text(value: string | null | undefined): ReactNode {
  return value === null || value === undefined || value === '' ? <None /> : <span title={value}>{value}</span>
}

function None(): ReactNode {
  const t = useWords('requests')
  return <Nothing why={t('nothing')} />
}

export const COLUMNS: Readonly<Record<ColumnName, LogColumn>> = {
  time: { width: '124px', cell: ({ time }) => <Time at={time} /> },
  status: { width: '160px', cell: (row) => <Status row={row} /> },
  model: {
    width: 'minmax(120px, 1.4fr)',
    cell: ({ model, endpoint }) => (model === null ? <span className="muted">{endpoint}</span> : text(model)),
  },
  served: { width: 'minmax(120px, 1.4fr)', cell: ({ served_model: served }) => text(served) },
  key: {
    width: 'minmax(96px, 1fr)',
    cell: ({ key }) => (key === null ? <None /> : <code className="muted">{key}</code>),
  },
  endpoint: { width: 'minmax(110px, 1fr)', cell: ({ endpoint }) => text(endpoint) },
  prompt: { width: '84px', isNumber: true, cell: ({ prompt_tokens: value }) => <Count value={value} /> },
  completion: { width: '84px', isNumber: true, cell: ({ completion_tokens: value }) => <Count value={value} /> },
  cached: { width: '84px', isNumber: true, cell: ({ cached_tokens: value }) => <Count value={value} /> },
  reasoning: { width: '92px', isNumber: true, cell: ({ reasoning_tokens: value }) => <Count value={value} /> },
  cost: { width: '96px', isNumber: true, cell: ({ cost }) => (cost === null ? <None /> : <Money micro={cost} />) },
  total: { width: '84px', isNumber: true, cell: ({ total_us: us }) => ms(us) },
  ttft: { width: '84px', isNumber: true, cell: ({ ttft_us: us }) => (us === null ? <None /> : ms(us)) },
  queue: { width: '84px', isNumber: true, cell: ({ queue_us: us }) => ms(us) },
  overhead: { width: '88px', isNumber: true, cell: ({ overhead_us: us }) => ms(us) },
  attempts: { width: '76px', isNumber: true, cell: ({ attempts }) => <Count value={attempts} /> },
  stream: { width: '76px', cell: ({ stream }) => <YesNo value={stream} /> },
  agent: { width: 'minmax(120px, 1.4fr)', cell: ({ user_agent: agent }) => text(agent) },
  address: { width: '128px', cell: ({ client_address: address }) => text(address) },
  member: { width: 'minmax(96px, 1fr)', cell: ({ member_id: id }) => text(id) },
  department: { width: 'minmax(96px, 1fr)', cell: ({ department_id: id }) => text(id) },
  enterprise: { width: 'minmax(96px, 1fr)', cell: ({ enterprise_id: id }) => text(id) },
  provider: { width: 'minmax(96px, 1fr)', cell: ({ provider_id: id }) => text(id) },
  upstream: { width: 'minmax(96px, 1fr)', cell: ({ upstream_key_id: id }) => text(id) },
  settlement: { width: '120px', cell: ({ settlement }) => <SettlementWord value={settlement} /> },
  id: { width: 'minmax(120px, 1.4fr)', cell: ({ id }) => <code>{id}</code> },
}

/** The columns that a scope has. */
export function columnsIn(scope: Scope): readonly ColumnName[] {
  const hidden: readonly ColumnName[] =
    scope.kind === 'platform'
      ? []
      : scope.kind === 'enterprise'
        ? ['enterprise', 'provider', 'upstream']
        : ['provider', 'upstream', 'member', 'department']
  return COLUMN_NAMES.filter((name) => !hidden.includes(name))
}

const CLIENT_LEFT = 499
const THROTTLED = 429

/** The status as a number, and what it means. */
export function Status({ row }: { readonly row: Pick<LogRow, 'status' | 'aborted' | 'error_type'> }): ReactNode {
  const t = useWords('requests')
  const { status, aborted, error_type: error } = row
  if (status === null) {
    return (
      <Badge tone="bad" icon="alert" title={t('statuses.interruptedAbout')}>
        {t('statuses.interrupted')}
      </Badge>
    )
  }
  if (status === CLIENT_LEFT || aborted) {
    return (
      <Badge tone="plain" icon="logout" title={t('statuses.leftAbout')}>
        {status} {t('statuses.left')}
      </Badge>
    )
  }
  if (status < 400) {
    return (
      <Badge tone="good" icon="check">
        {status} {t('statuses.ok')}
      </Badge>
    )
  }
  return (
    <Badge
      tone={status === THROTTLED ? 'warn' : 'bad'}
      icon={status === THROTTLED ? 'clock' : 'alert'}
      title={error ?? undefined}
    >
      {status} {errorWord(error, t)}
    </Badge>
  )
}

export const ERROR_TYPES = [
  'invalid_request',
  'auth_error',
  'access_denied',
  'rate_limit',
  'quota_exhausted',
  'server_error',
  'service_unavailable',
] as const

function errorWord(error: string | null, t: ReturnType<typeof useWords<'requests'>>): string {
  const known = ERROR_TYPES.find((one) => one === error)
  return known === undefined ? t('statuses.failed') : t(`errorTypes.${known}`)
}

function YesNo({ value }: { readonly value: boolean }): ReactNode {
  const t = useWords('requests')
  return value ? t('yes') : <span className="muted">{t('no')}</span>
}

const SETTLEMENTS = ['exact', 'after_disconnect', 'observed', 'estimated', 'interrupted', 'none'] as const

export function SettlementWord({ value }: { readonly value: string }): ReactNode {
  const t = useWords('requests')
  const known = SETTLEMENTS.find((one) => one === value)
  if (known === undefined) return value
  return <span title={t(`settlementAbout.${known}`)}>{t(`settlements.${known}`)}</span>
}
