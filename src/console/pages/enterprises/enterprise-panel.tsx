import { Button } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useDetail, useRead } from '../../api/queries.ts'
import { exact } from '../../format/numbers.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Id } from '../../parts/copy.tsx'
import { Facts, Section } from '../../parts/facts.tsx'
import { EditForm } from '../../parts/form-dialog.tsx'
import { Icon } from '../../parts/icons.tsx'
import { SpendMeter } from '../../parts/meter.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Failed } from '../../parts/states.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { toast } from '../../parts/toasts.tsx'
import { tellFailure } from '../../parts/told.ts'
import { Money, Time, useLocale } from '../../parts/values.tsx'
import { useWords } from '../../words/index.ts'
import { changeEnterprise, deleteEnterprise } from './enterprise-calls.ts'
import type { Enterprise } from './enterprise-calls.ts'
import { bodyOf, draftOf, errorsOf, FIELDS } from './enterprise-draft.ts'
import type { DraftErrors, EnterpriseDraft } from './enterprise-draft.ts'
import { EnterpriseFields } from './enterprise-fields.tsx'
import { EnterpriseState } from './enterprise-state.tsx'
import { WalletSection } from './wallet-section.tsx'
import layout from '../../parts/layout.module.css'

interface EnterprisePanelProps {
  readonly id: string
  readonly onClose: () => void
}

export function EnterprisePanel({ id, onClose }: EnterprisePanelProps): ReactNode {
  const t = useWords('enterprises')
  const detail = useDetail('adminGetEnterprise', { params: { id } })
  const shown = detail.data?.data
  return (
    <Panel title={shown?.name ?? t('enterprise')} label={t('enterprise')} onClose={onClose}>
      {shown !== undefined && <Detail key={id} shown={shown} etag={detail.data?.etag ?? null} onClose={onClose} />}
      {shown === undefined && detail.isError && (
        <Failed
          cause={detail.error}
          retry={() => {
            void detail.refetch()
          }}
        />
      )}
    </Panel>
  )
}

interface DetailProps {
  readonly shown: Enterprise
  readonly etag: string | null
  readonly onClose: () => void
}

function Detail({ shown, etag, onClose }: DetailProps): ReactNode {
  const t = useWords('enterprises')
  const [dialog, setDialog] = useState<'disable' | 'delete' | null>(null)
  const isDeleted = shown.status === 'deleted'
  const close = (): void => {
    setDialog(null)
  }
  const enable = (): void => {
    changeEnterprise(shown.id, { status: 'active' }, null).then(
      () => {
        toast('good', t('turnedOn', { name: shown.name }))
      },
      (cause: unknown) => {
        tellFailure(cause)
      },
    )
  }
  const forecast = shown.spend?.forecast ?? null
  return (
    <>
      <Facts
        rows={[
          [t('columns.state'), <EnterpriseState key="state" status={shown.status} />],
          [t('columns.pays'), t(shown.is_prepaid ? 'prepaidLong' : 'postpaidLong')],
          [t('columns.spend'), <SpendMeter key="spend" spend={shown.spend} currency={shown.currency} />],
          ...(forecast === null
            ? []
            : ([[t('forecast'), <Money key="forecast" micro={forecast} currency={shown.currency} />]] as const)),
          [t('columns.zone'), shown.time_zone],
          [t('columns.created'), <Time key="created" at={shown.created_at} />],
          ...(shown.deleted_at === null
            ? []
            : ([[t('deletedAt'), <Time key="deleted" at={shown.deleted_at} />]] as const)),
          [t('id'), <Id key="id" id={shown.id} label={t('copyId')} />],
        ]}
      />
      <div className={layout.acts}>
        <Button
          variant="default"
          component={Link}
          href={`/e/${encodeURIComponent(shown.id)}`}
          leftSection={<Icon name="external" size={14} />}
        >
          {t('enter')}
        </Button>
        {!isDeleted && (
          <>
            <Button
              variant="default"
              leftSection={<Icon name="power" size={14} />}
              onClick={() => {
                if (shown.status === 'active') setDialog('disable')
                else enable()
              }}
            >
              {shown.status === 'active' ? t('disable') : t('enable')}
            </Button>
            <Button
              variant="default"
              leftSection={<Icon name="trash" size={14} />}
              onClick={() => {
                setDialog('delete')
              }}
            >
              {t('delete')}
            </Button>
          </>
        )}
      </div>
      <Section title={t('wallet.heading')}>
        <WalletSection id={shown.id} name={shown.name} />
      </Section>
      {!isDeleted && (
        <Section title={t('settings')}>
          <Settings shown={shown} etag={etag} />
        </Section>
      )}
      {dialog === 'disable' && (
        <Confirm
          title={t('disableTitle', { name: shown.name })}
          act={t('disable')}
          onClose={close}
          onConfirm={async () => {
            await changeEnterprise(shown.id, { status: 'disabled' }, null)
            toast('good', t('turnedOff', { name: shown.name }), enable)
          }}
        >
          <p>{t('disableAbout')}</p>
          <Loss shown={shown} />
        </Confirm>
      )}
      {dialog === 'delete' && (
        <Confirm
          title={t('deleteTitle', { name: shown.name })}
          act={t('delete')}
          name={shown.name}
          onClose={close}
          onConfirm={async () => {
            await deleteEnterprise(shown.id)
            onClose()
            toast('good', t('deleted', { name: shown.name }))
          }}
          instead={
            shown.status === 'active' ? (
              <Button
                variant="default"
                onClick={() => {
                  setDialog('disable')
                }}
              >
                {t('disableInstead')}
              </Button>
            ) : undefined
          }
        >
          <p>{t('deleteAbout')}</p>
          <Loss shown={shown} />
        </Confirm>
      )}
    </>
  )
}

/** The things that end with the enterprise, counted by the gateway. */
function Loss({ shown: { id, currency } }: { readonly shown: Enterprise }): ReactNode {
  const t = useWords('enterprises')
  const locale = useLocale()
  const keys = useRead('listEnterpriseKeys', { params: { id }, query: { limit: 1 } })
  const members = useRead('listMembers', { params: { id }, query: { limit: 1 } })
  const usage = useRead('enterpriseUsage', { params: { id }, query: { period: '7d' } })
  const wallet = useRead('getWallet', { params: { id } })
  const isKnown = keys.data !== undefined && members.data !== undefined && usage.data !== undefined
  return (
    <>
      <p>
        <strong>
          {isKnown
            ? t('loss', {
                keys: exact(keys.data.total, locale),
                members: exact(members.data.total, locale),
                requests: exact(usage.data.totals.requests, locale),
              })
            : t('counting')}
        </strong>
      </p>
      {wallet.data !== undefined && wallet.data.balance > 0 && (
        <p>
          {t('lossMoney')} <Money micro={wallet.data.balance} currency={currency} />
        </p>
      )}
    </>
  )
}

/** Edits lie over the enterprise as it is: a change by somebody else meanwhile touches only what is not edited. */
function Settings({ shown, etag }: Pick<DetailProps, 'shown' | 'etag'>): ReactNode {
  const t = useWords('enterprises')
  const [edits, setEdits] = useState<Partial<EnterpriseDraft>>({})
  const [errors, setErrors] = useState<DraftErrors>({})
  const submission = useSubmission(FIELDS)
  const submit = async (): Promise<void> => {
    const found = errorsOf(edits)
    setErrors(found)
    if (Object.keys(found).length > 0) return
    if (!(await submission.run(() => changeEnterprise(shown.id, bodyOf(edits), etag)))) return
    setEdits({})
    toast('good', t('changed', { name: edits.name ?? shown.name }))
  }
  return (
    <EditForm
      submission={submission}
      isEdited={Object.keys(edits).length > 0}
      onDiscard={() => {
        setEdits({})
        setErrors({})
      }}
      onSubmit={() => {
        void submit()
      }}
    >
      <EnterpriseFields
        draft={{ ...draftOf(shown), ...edits }}
        errors={errors}
        toldOf={submission.toldOf}
        currency={shown.currency}
        onChange={(change) => {
          setEdits({ ...edits, ...change })
          setErrors({})
        }}
      />
    </EditForm>
  )
}
