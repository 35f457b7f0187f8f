import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { CodeBlock } from '../../parts/code.tsx'
import { Id } from '../../parts/copy.tsx'
import { Facts, Section } from '../../parts/facts.tsx'
import { Panel } from '../../parts/panel.tsx'
import { useUrlState } from '../../parts/url-state.ts'
import { Money, Nothing, Time } from '../../parts/values.tsx'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { AuditEntry } from './audit-calls.ts'
import { Outcome } from './outcome.tsx'
import { useAuditTexts } from './texts.ts'
import classes from './audit-panel.module.css'

interface AuditPanelProps {
  readonly scope: Scope
  readonly entry: AuditEntry
  readonly onClose: () => void
}

export function AuditPanel({ scope, entry, onClose }: AuditPanelProps): ReactNode {
  const t = useWords('audit')
  const common = useWords('common')
  const url = useUrlState()
  const { whatOf, whoOf, targetOf, enterpriseOf } = useAuditTexts(scope)
  const { target_id: target, changes, sent } = entry
  const [path = ''] = url.at('').split('?')
  return (
    <Panel title={whatOf(entry.operation)} label={t('entry')} onClose={onClose}>
      <Facts
        rows={[
          [t('columns.time'), <Time key="time" at={entry.time} />],
          [t('columns.who'), whoOf(entry) ?? <Nothing key="who" why={t('nobody')} />],
          [t('columns.outcome'), <Outcome key="outcome" entry={entry} />],
          ...(entry.error_code === null ? [] : [[t('reason'), <code key="code">{entry.error_code}</code>] as const]),
          [
            t('columns.target'),
            target === null ? (
              <Nothing key="target" why={t('noTarget')} />
            ) : (
              <span key="target">
                {targetOf(entry) === target ? null : `${targetOf(entry) ?? ''} `}
                <Id id={target} label={t('copyTarget')} />{' '}
                <Link href={`${path}?target=${encodeURIComponent(target)}`}>{t('onlyThis')}</Link>
              </span>
            ),
          ],
          ...(scope.kind === 'platform' && entry.enterprise_id !== null
            ? [[t('columns.enterprise'), enterpriseOf(entry)] as const]
            : []),
          [t('columns.address'), entry.address],
          [t('operation'), <code key="operation">{entry.operation}</code>],
          [common('requestId'), <Id key="request" id={entry.request_id} label={common('copyRequestId')} />],
        ]}
      />
      <Section title={t('columns.changes')}>
        {changes === null || changes.length === 0 ? (
          <p className="muted note">{t('noChanges')}</p>
        ) : (
          <table className={classes.diff}>
            <thead>
              <tr>
                <th scope="col">{t('field')}</th>
                <th scope="col">{t('old')}</th>
                <th scope="col">{t('new')}</th>
              </tr>
            </thead>
            <tbody>
              {changes.map(({ field, old, new: fresh }) => (
                <tr key={field}>
                  <th scope="row">{field}</th>
                  <td data-side="old">
                    <Value field={field} value={old} why={t('wasNone')} />
                  </td>
                  <td data-side="new">
                    <Value field={field} value={fresh} why={t('isNone')} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Section>
      {sent !== null && (
        <Section title={t('sent')}>
          <CodeBlock text={JSON.stringify(sent, null, 2)} label={t('sent')} />
        </Section>
      )}
    </Panel>
  )
}

interface ValueProps {
  readonly field: string
  readonly value: unknown
  /** The reason why there is none. */
  readonly why: string
}

/** Fields in micro-units. */
const AMOUNT = /(^|[.])(monthly_budget|platform_monthly_budget|balance|amount|price_micro)$/

function Value({ field, value, why }: ValueProps): ReactNode {
  if (value === null || value === undefined) return <Nothing why={why} />
  if (typeof value === 'number' && AMOUNT.test(field)) return <Money micro={value} />
  return <code>{typeof value === 'string' ? value : JSON.stringify(value)}</code>
}
