import { Button, SegmentedControl } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { bytes, exact } from '../../format/numbers.ts'
import { CodeBlock } from '../../parts/code.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Section } from '../../parts/facts.tsx'
import { Icon } from '../../parts/icons.tsx'
import { saveFile } from '../../parts/save-file.ts'
import { Failed } from '../../parts/states.tsx'
import { toast } from '../../parts/toasts.tsx'
import { Time, useLocale } from '../../parts/values.tsx'
import { mayIn, useAccount } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { assembled, indented, preview } from './answer-text.ts'
import type { AnswerPart } from './answer-text.ts'
import { eraseBodies } from './log-calls.ts'
import type { Bodies, Body, LogDetail } from './log-calls.ts'
import classes from './request-panel.module.css'

/** Whether the person may look at captured bodies of a request, and erase them. The gateway decides. */
function useBodyRights(
  scope: Scope,
  { enterprise_id: enterpriseId }: Pick<LogDetail, 'enterprise_id'>,
): { readonly mayRead: boolean; readonly mayErase: boolean } {
  const { role, enterprises } = useAccount()
  if (scope.kind !== 'own') {
    return { mayRead: mayIn(scope, 'log.read_bodies'), mayErase: mayIn(scope, 'log.erase_bodies') }
  }
  // A key that an enterprise issued: its bodies are the enterprise's.
  const mayDo =
    enterpriseId === null || role === 'admin' || enterprises.find(({ id }) => id === enterpriseId)?.role === 'owner'
  return { mayRead: mayDo, mayErase: mayDo }
}

interface BodiesSectionProps {
  readonly scope: Scope
  readonly detail: LogDetail
  readonly bodies: UseQueryResult<Bodies | null>
  readonly isAsked: boolean
  readonly onAsk: () => void
}

/** The captured bodies. They are read only when somebody asks, because each look has a row in the audit log. */
export function BodiesSection({ scope, detail, bodies, isAsked, onAsk }: BodiesSectionProps): ReactNode {
  const t = useWords('requests')
  const [isErasing, setIsErasing] = useState(false)
  const { mayRead, mayErase } = useBodyRights(scope, detail)
  return (
    <Section title={t('bodies.title')}>
      {!mayRead && <p className={classes.note}>{t('bodies.denied')}</p>}
      {mayRead && !isAsked && (
        <>
          <p className={classes.text}>{t('bodies.about')}</p>
          <Button variant="default" onClick={onAsk}>
            {t('bodies.show')}
          </Button>
        </>
      )}
      {isAsked && bodies.isError && (
        <Failed
          cause={bodies.error}
          retry={() => {
            void bodies.refetch()
          }}
        />
      )}
      {isAsked && bodies.isPending && <p className="muted">{t('bodies.loading')}</p>}
      {bodies.data !== undefined && <ShownBodies id={detail.id} bodies={bodies.data} />}
      {mayErase && (
        <p className={classes.erase}>
          <Button
            variant="default"
            size="xs"
            leftSection={<Icon name="trash" size={12} />}
            onClick={() => {
              setIsErasing(true)
            }}
          >
            {t('bodies.erase')}
          </Button>
        </p>
      )}
      {isErasing && (
        <Confirm
          title={t('bodies.eraseTitle')}
          act={t('bodies.erase')}
          onClose={() => {
            setIsErasing(false)
          }}
          onConfirm={async () => {
            await eraseBodies(scope, detail.id)
            toast('good', t('bodies.erased'))
          }}
        >
          <p>{t('bodies.eraseAbout')}</p>
        </Confirm>
      )}
    </Section>
  )
}

function ShownBodies({ id, bodies }: { readonly id: string; readonly bodies: Bodies | null }): ReactNode {
  const t = useWords('requests')
  if (bodies === null) return <p className="muted">{t('bodies.gone')}</p>
  return (
    <>
      <OneBody title={t('bodies.request')} name={`${id}-request`} body={bodies.request} />
      <OneBody title={t('bodies.answer')} name={`${id}-answer`} body={bodies.answer} />
    </>
  )
}

interface OneBodyProps {
  readonly title: string
  /** Of its file. */
  readonly name: string
  readonly body: Body | null
}

function OneBody({ title, name, body }: OneBodyProps): ReactNode {
  const t = useWords('requests')
  const locale = useLocale()
  const [isRaw, setIsRaw] = useState(false)
  if (body === null) {
    return (
      <>
        <h4 className={classes.bodyTitle}>{title}</h4>
        <p className="muted">{t('bodies.notKept')}</p>
      </>
    )
  }
  const { text, bytes: size, truncated, complete, redactions, expires_at: expiresAt } = body
  const parts = text === null ? null : assembled(text)
  return (
    <>
      <div className={classes.bodyHead}>
        <h4 className={classes.bodyTitle}>{title}</h4>
        {parts !== null && (
          <SegmentedControl
            size="xs"
            aria-label={t('bodies.form')}
            value={isRaw ? 'raw' : 'whole'}
            data={[
              { value: 'whole', label: t('bodies.whole') },
              { value: 'raw', label: t('bodies.raw') },
            ]}
            onChange={(value) => {
              setIsRaw(value === 'raw')
            }}
          />
        )}
        {text !== null && (
          <Button
            variant="default"
            size="xs"
            leftSection={<Icon name="download" size={12} />}
            aria-label={t('bodies.downloadOf', { name: title })}
            onClick={() => {
              saveFile(new Blob([text], { type: 'text/plain' }), `${name}.txt`)
            }}
          >
            {t('bodies.download')}
          </Button>
        )}
      </div>
      {text === null ? (
        <p className="muted">{t('bodies.sealed')}</p>
      ) : parts !== null && !isRaw ? (
        <Parts parts={parts} label={title} />
      ) : (
        <Preview text={parts === null ? indented(text) : text} label={title} />
      )}
      <p className={classes.note}>
        {[
          bytes(size, locale),
          ...(truncated ? [t('bodies.truncated')] : []),
          ...(complete ? [] : [t('bodies.incomplete')]),
          ...(redactions > 0 ? [t('bodies.redactions', { count: redactions, shown: exact(redactions, locale) })] : []),
        ].join(' · ')}{' '}
        · {t('bodies.until')} <Time at={expiresAt} />
      </p>
    </>
  )
}

/** Answers are text from elsewhere: they are shown as text and as nothing else. */
function Preview({ text, label }: { readonly text: string; readonly label: string }): ReactNode {
  const t = useWords('requests')
  const { shown, isCut } = preview(text)
  return (
    <>
      <CodeBlock text={shown} label={label} isWrapped />
      {isCut && <p className={classes.note}>{t('bodies.preview')}</p>}
    </>
  )
}

function Parts({ parts, label }: { readonly parts: readonly AnswerPart[]; readonly label: string }): ReactNode {
  const t = useWords('requests')
  if (parts.length === 0) return <p className="muted">{t('bodies.nothing')}</p>
  return parts.map(({ kind, name, text }, at) => (
    <div key={at} className={classes.part}>
      {(kind !== 'text' || parts.length > 1) && (
        <p className={classes.partKind}>
          {t(`bodies.parts.${kind}`)} {name !== null && <code>{name}</code>}
        </p>
      )}
      <Preview text={kind === 'tool' ? indented(text) : text} label={`${label} ${at + 1}`} />
    </div>
  ))
}
