import { ActionIcon, Button, Menu } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { isNotFound } from '../../api/queries.ts'
import { useCopy, CopyIcon, Id } from '../../parts/copy.tsx'
import { Facts, Section } from '../../parts/facts.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty, Failed } from '../../parts/states.tsx'
import { Count, Duration, Nothing, Time, useMoney } from '../../parts/values.tsx'
import { useHolderNames } from '../../parts/holder-names.ts'
import { mayIn, pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { ERROR_TYPES, SettlementWord, Status } from './columns.tsx'
import { costLines } from './cost-lines.ts'
import { curlOf } from './curl.ts'
import { BodiesSection } from './bodies.tsx'
import { useBodies, useLogDetail, usePrices } from './log-calls.ts'
import type { Bodies, LogDetail } from './log-calls.ts'
import { Waterfall } from './waterfall.tsx'
import classes from './request-panel.module.css'

const US_PER_MS = 1_000

interface RequestPanelProps {
  readonly scope: Scope
  readonly id: string
  /** Of the list beside it, in its order and within its filter. */
  readonly ids: readonly string[]
  readonly onOpen: (id: string) => void
  readonly onClose: () => void
}

export function RequestPanel({ scope, id, ids, onOpen, onClose }: RequestPanelProps): ReactNode {
  const t = useWords('requests')
  const detail = useLogDetail(scope, id)
  const at = ids.indexOf(id)
  const step = (by: number, icon: 'chevronUp' | 'chevronDown', label: string): ReactNode => {
    const target = at < 0 ? undefined : ids[at + by]
    return (
      <ActionIcon
        aria-label={label}
        title={label}
        disabled={target === undefined}
        onClick={() => {
          if (target !== undefined) onOpen(target)
        }}
      >
        <Icon name={icon} />
      </ActionIcon>
    )
  }
  return (
    <Panel
      title={t('request')}
      label={t('request')}
      onClose={onClose}
      acts={
        <>
          {step(-1, 'chevronUp', t('previous'))}
          {step(1, 'chevronDown', t('next'))}
          <CopyIcon text={location.href} label={t('copyLink')} />
        </>
      }
    >
      {detail.data !== undefined && <Detail key={id} scope={scope} detail={detail.data} />}
      {detail.isError &&
        (isNotFound(detail.error) ? (
          <Empty icon="search" title={t('unknown')} text={t('unknownAbout')} />
        ) : (
          <Failed
            cause={detail.error}
            retry={() => {
              void detail.refetch()
            }}
          />
        ))}
    </Panel>
  )
}

function Detail({ scope, detail }: { readonly scope: Scope; readonly detail: LogDetail }): ReactNode {
  const t = useWords('requests')
  const { copy, isCopied } = useCopy()
  const names = useHolderNames(scope)
  const [isAsked, setIsAsked] = useState(false)
  const bodies = useBodies(scope, detail.id, isAsked)
  const base = pathIn(scope, '/requests')
  const filterLink = (name: string, value: string | null, shown: ReactNode = value): ReactNode =>
    value === null ? (
      <Nothing why={t('nothing')} />
    ) : (
      <Link href={`${base}?${new URLSearchParams({ [name]: value }).toString()}`} title={t('filterByThis')}>
        {shown}
      </Link>
    )
  const row = (name: string, value: ReactNode): readonly [string, ReactNode] => [name, value]
  const optional = (name: string, value: string | null | undefined): ReadonlyArray<readonly [string, ReactNode]> =>
    value === null || value === undefined || value === '' ? [] : [row(name, value)]
  return (
    <>
      <div className={classes.top}>
        <Status row={detail} />
        <span className={classes.gap} />
        {CONVERSATIONS.has(detail.endpoint) && mayIn(scope, 'keys.manage') && (
          <Button
            component={Link}
            href={playgroundOf(scope, detail)}
            variant="default"
            size="xs"
            leftSection={<Icon name="refresh" size={14} />}
          >
            {t('playground')}
          </Button>
        )}
        <Menu>
          <Menu.Target>
            <Button variant="default" size="xs" leftSection={<Icon name={isCopied ? 'check' : 'copy'} size={14} />}>
              {t('copyAs')}
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item
              onClick={() => {
                copy(curlOf(detail, location.origin, wholeRequest(bodies.data ?? null)))
              }}
            >
              {t('asCurl')}
            </Menu.Item>
            <Menu.Item
              onClick={() => {
                copy(JSON.stringify(detail, null, 2))
              }}
            >
              {t('asJson')}
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </div>
      {detail.error_code !== null && <ErrorNote detail={detail} />}
      <Facts
        rows={[
          row(t('columns.id'), <Id id={detail.id} label={t('copyId')} />),
          row(t('columns.time'), <Time at={detail.time} />),
          row(t('columns.model'), filterLink('model', detail.model)),
          ...(detail.served_model === null || detail.served_model === detail.model
            ? []
            : [row(t('columns.served'), detail.served_model)]),
          row(t('columns.key'), filterLink('key', detail.key_id, <code>{detail.key}</code>)),
          row(t('columns.endpoint'), filterLink('endpoint', detail.endpoint)),
          row(t('columns.stream'), detail.stream ? t('yes') : t('no')),
          row(t('columns.agent'), detail.user_agent === '' ? <Nothing why={t('nothing')} /> : detail.user_agent),
          row(t('columns.address'), detail.client_address),
          ...optional(t('clientRequestId'), detail.client_request_id),
          ...optional(t('filters.trace'), detail.trace_id),
          ...optional(t('columns.member'), names.member(detail.member_id)),
          ...optional(t('columns.department'), names.department(detail.department_id)),
          ...(scope.kind !== 'platform' || detail.enterprise_id === null
            ? []
            : [
                row(
                  t('columns.enterprise'),
                  <Link
                    key="enterprise"
                    href={pathIn(scope, `/enterprises/${encodeURIComponent(detail.enterprise_id)}`)}
                  >
                    {detail.enterprise_id}
                  </Link>,
                ),
              ]),
          ...(detail.tags === null
            ? []
            : [row(t('tags'), <Tags key="tags" tags={detail.tags} linkOf={(tag) => filterLink('tag', tag)} />)]),
        ]}
      />
      <Section title={t('timing')}>
        <Waterfall detail={detail} />
        <p className={classes.note}>
          {t('overheadIs')} <Duration ms={detail.overhead_us / US_PER_MS} />
        </p>
      </Section>
      <Section title={t('costSection')}>
        <Cost scope={scope} detail={detail} />
      </Section>
      {detail.captured && (
        <BodiesSection
          scope={scope}
          detail={detail}
          bodies={bodies}
          isAsked={isAsked}
          onAsk={() => {
            setIsAsked(true)
          }}
        />
      )}
    </>
  )
}

/** The endpoints whose requests the playground can send again. */
const CONVERSATIONS: ReadonlySet<string> = new Set(['chat.completions', 'messages', 'responses'])

/** The playground takes the model, and reads the request by its id. The platform has none: that of the request's enterprise is taken. */
function playgroundOf(scope: Scope, { id, model, enterprise_id: enterpriseId }: LogDetail): string {
  const query = new URLSearchParams({ ...(model === null ? {} : { model }), request: id })
  const isElsewhere = scope.kind === 'platform' && enterpriseId !== null
  const path = isElsewhere
    ? `/e/${encodeURIComponent(enterpriseId)}/playground`
    : pathIn(scope.kind === 'platform' ? { kind: 'own' } : scope, '/playground')
  return `${path}?${query.toString()}`
}

/** The captured body of the request; null where only a part of it is known. */
function wholeRequest(bodies: Bodies | null): string | null {
  const request = bodies?.request ?? null
  return request === null || request.truncated || !request.complete ? null : request.text
}

function ErrorNote({ detail }: { readonly detail: LogDetail }): ReactNode {
  const t = useWords('requests')
  const known = ERROR_TYPES.find((one) => one === detail.error_type)
  return (
    <div className={classes.error}>
      <Icon name="alert" />
      <div>
        <strong>{known === undefined ? detail.error_type : t(`errorTypes.${known}`)}</strong>{' '}
        <code>{detail.error_code}</code>
        {known !== undefined && <p className={classes.advice}>{t(`errorAdvice.${known}`)}</p>}
      </div>
    </div>
  )
}

interface TagsProps {
  readonly tags: Readonly<Record<string, string>>
  readonly linkOf: (tag: string) => ReactNode
}

function Tags({ tags, linkOf }: TagsProps): ReactNode {
  return (
    <ul className={classes.tags}>
      {Object.entries(tags).map(([name, value]) => (
        <li key={name}>{linkOf(`${name}:${value}`)}</li>
      ))}
    </ul>
  )
}

/** Tokens × price, line by line, and the sum that was charged. */
function Cost({ scope, detail }: { readonly scope: Scope; readonly detail: LogDetail }): ReactNode {
  const t = useWords('requests')
  const prices = usePrices(scope, detail)
  const lines = costLines(detail, prices)
  const { exactMoney: shown } = useMoney()
  const workedOut = Math.round(lines.reduce((sum, { cost }) => sum + (cost ?? 0), 0))
  const isOther = prices !== null && detail.cost !== null && Math.abs(workedOut - detail.cost) > 1
  return (
    <>
      <table className={classes.costs}>
        <thead>
          <tr>
            <th scope="col">{t('cost.kind')}</th>
            <th scope="col">{t('cost.tokens')}</th>
            {prices !== null && <th scope="col">{t('cost.price')}</th>}
            {prices !== null && <th scope="col">{t('columns.cost')}</th>}
          </tr>
        </thead>
        <tbody>
          {lines.map(({ kind, tokens, price, cost }) => (
            <tr key={kind}>
              <th scope="row">{t(`cost.${kind}`)}</th>
              <td>
                <Count value={tokens} />
              </td>
              {prices !== null && <td>{price === null ? '—' : shown(price)}</td>}
              {prices !== null && <td>{cost === null ? '—' : shown(Math.round(cost))}</td>}
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">{t('cost.charged')}</th>
            <td>
              <Count value={detail.prompt_tokens + detail.completion_tokens} />
            </td>
            {prices !== null && <td />}
            {prices !== null && <td>{detail.cost === null ? <Nothing why={t('nothing')} /> : shown(detail.cost)}</td>}
          </tr>
        </tfoot>
      </table>
      {prices === null && (
        <p className={classes.sum}>
          {t('columns.cost')}{' '}
          <strong>{detail.cost === null ? <Nothing why={t('nothing')} /> : shown(detail.cost)}</strong>
        </p>
      )}
      {detail.reasoning_tokens > 0 && (
        <p className={classes.note}>
          {t('cost.reasoning')} <Count value={detail.reasoning_tokens} />
        </p>
      )}
      {isOther && <p className={classes.note}>{t('cost.other')}</p>}
      <p className={classes.note}>
        {t('columns.settlement')}: <SettlementWord value={detail.settlement} />
      </p>
    </>
  )
}
