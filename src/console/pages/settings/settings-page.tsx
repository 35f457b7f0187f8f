import { useQuery } from '@tanstack/react-query'
import { NumberInput, Select, Switch, TagsInput, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { FormEvent, ReactNode } from 'react'
import { ApiError } from '../../../client/index.ts'
import type { RequestOf } from '../../../client/index.ts'
import { queryClient, refresh } from '../../api/queries.ts'
import { call, callWithHeaders } from '../../api/session.ts'
import { Id } from '../../parts/copy.tsx'
import { enterpriseIdOf } from '../../parts/enterprise.ts'
import type { Enterprise } from '../../parts/enterprise.ts'
import { Facts } from '../../parts/facts.tsx'
import { LimitFields } from '../../parts/limit-fields.tsx'
import { limitBodyOf, limitDraftOf, limitErrorsOf, LIMIT_FIELDS } from '../../parts/limits.ts'
import type { LimitDraft, LimitErrors } from '../../parts/limits.ts'
import { SpendMeter } from '../../parts/meter.tsx'
import { Page } from '../../parts/page.tsx'
import { Failed } from '../../parts/states.tsx'
import { TableSkeleton } from '../../parts/table.tsx'
import { toast } from '../../parts/toasts.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { told } from '../../parts/told.ts'
import { Count, Money, Nothing, Time } from '../../parts/values.tsx'
import { mayIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import { DangerZone } from './danger-zone.tsx'
import classes from '../../parts/form.module.css'
import { SaveActs } from '../../parts/save-acts.tsx'

type Change = NonNullable<RequestOf<'updateEnterprise'>['body']>

const DAYS = 30
const MAX_DAYS = 365

export function SettingsPage({ scope }: PageProps): ReactNode {
  const t = useWords('settings')
  const common = useWords('common')
  const id = enterpriseIdOf(scope)
  const detail = useQuery({
    queryKey: ['enterpriseSettings', id],
    queryFn: ({ signal }) => callWithHeaders('getEnterprise', { params: { id } }, { signal }),
  })
  const enterprise = detail.data?.data
  const canUpdate = mayIn(scope, 'enterprise.update')
  const parts = enterprise === undefined ? null : { scope, enterprise, etag: detail.data?.etag ?? null }
  return (
    <Page title={t('title')} about={canUpdate ? t('about') : t('readOnly')}>
      {detail.isPending && <TableSkeleton label={common('loading')} />}
      {enterprise === undefined && detail.isError && (
        <Failed
          cause={detail.error}
          retry={() => {
            void detail.refetch()
          }}
        />
      )}
      {parts !== null && (
        <>
          <Part title={t('general')}>{canUpdate ? <General {...parts} /> : <GeneralFacts {...parts} />}</Part>
          <Part title={t('budgets')} about={t('budgetsAbout')}>
            <Caps {...parts} />
            {canUpdate && <Budgets {...parts} />}
          </Part>
          <Part title={t('capture')} about={t('captureAbout')}>
            {canUpdate ? <Capture {...parts} /> : <CaptureFacts {...parts} />}
          </Part>
          <Part title={t('danger')}>
            <DangerZone scope={scope} enterprise={parts.enterprise} />
          </Part>
        </>
      )}
    </Page>
  )
}

interface PartProps {
  readonly title: string
  readonly about?: string
  readonly children: ReactNode
}

function Part({ title, about, children }: PartProps): ReactNode {
  return (
    <section className={classes.section} aria-label={title}>
      <h2>{title}</h2>
      {about !== undefined && <p className={classes.about}>{about}</p>}
      {children}
    </section>
  )
}

interface SettingsProps {
  readonly scope: Scope
  readonly enterprise: Enterprise
  readonly etag: string | null
}

async function update(id: string, body: Change, etag: string | null): Promise<void> {
  await call('updateEnterprise', { params: { id }, body }, etag === null ? {} : { ifMatch: etag })
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: ['enterpriseSettings', id] }),
    refresh('getEnterprise', 'me'),
  ])
}

interface Draft {
  readonly isEdited: boolean
  readonly isBusy: boolean
  readonly isConflict: boolean
  /** The gateway's own words about a field. */
  readonly toldOf: (field: string) => string | undefined
  readonly cause: unknown
  readonly save: (event: FormEvent) => void
  readonly discard: () => void
}

/** One section: its edits lie over the stored values, are saved together, and can be taken back. */
function useDraft<Values extends object>(
  { enterprise, etag }: SettingsProps,
  fields: readonly string[],
  edits: Partial<Values>,
  clear: () => void,
  bodyOf: () => Change | null,
): Draft {
  const words = useWords('enterprise')
  const act = useSubmission(fields)
  const { id } = enterprise
  const save = async (): Promise<void> => {
    const body = bodyOf()
    if (body === null || !(await act.run(() => update(id, body, etag)))) return
    clear()
    const names = Object.keys(body) as Array<keyof Change & keyof Enterprise>
    const back = Object.fromEntries(names.map((name) => [name, enterprise[name]]))
    toast('good', words('changed'), () => {
      told(update(id, back, null))
    })
  }
  return {
    isEdited: Object.keys(edits).length > 0,
    isBusy: act.isBusy,
    isConflict: act.cause instanceof ApiError && act.cause.statusCode === 412,
    toldOf: act.toldOf,
    cause: act.cause,
    save: (event) => {
      event.preventDefault()
      void save()
    },
    discard: () => {
      clear()
      act.forget()
    },
  }
}

interface GeneralDraft {
  readonly name: string
  readonly time_zone: string
}

function General(props: SettingsProps): ReactNode {
  const { enterprise } = props
  const t = useWords('settings')
  const [edits, setEdits] = useState<Partial<GeneralDraft>>({})
  const values: GeneralDraft = { name: enterprise.name, time_zone: enterprise.time_zone, ...edits }
  const isNameless = values.name.trim() === ''
  const draft = useDraft<GeneralDraft>(
    props,
    ['name', 'time_zone'],
    edits,
    () => {
      setEdits({})
    },
    () => (isNameless ? null : { ...edits, ...(edits.name === undefined ? {} : { name: edits.name.trim() }) }),
  )
  return (
    <form className={classes.form} noValidate onSubmit={draft.save}>
      <TextInput
        label={t('name')}
        value={values.name}
        maxLength={100}
        autoComplete="off"
        error={isNameless ? t('nameMissing') : draft.toldOf('name')}
        onChange={(event) => {
          setEdits({ ...edits, name: event.currentTarget.value })
        }}
      />
      <Select
        label={t('zone')}
        description={t('zoneHint')}
        value={values.time_zone}
        searchable
        limit={100}
        data={zones(enterprise.time_zone)}
        error={draft.toldOf('time_zone')}
        onChange={(zone) => {
          if (zone !== null) setEdits({ ...edits, time_zone: zone })
        }}
      />
      <SaveActs
        isEdited={draft.isEdited}
        isBusy={draft.isBusy}
        isConflict={draft.isConflict}
        cause={draft.cause}
        onDiscard={draft.discard}
      />
      <GeneralFacts {...props} isShort />
    </form>
  )
}

function zones(known: string): string[] {
  return [...new Set([known, 'UTC', ...Intl.supportedValuesOf('timeZone')])]
}

function GeneralFacts({ enterprise, isShort = false }: SettingsProps & { readonly isShort?: boolean }): ReactNode {
  const t = useWords('settings')
  const words = useWords('enterprise')
  return (
    <Facts
      rows={[
        ...(isShort
          ? []
          : ([
              [t('name'), enterprise.name],
              [t('zone'), enterprise.time_zone],
            ] as const)),
        [t('currency'), enterprise.currency],
        [t('payment'), enterprise.is_prepaid ? t('prepaid') : t('postpaid')],
        [t('created'), <Time key="created" at={enterprise.created_at} />],
        [words('id'), <Id key="id" id={enterprise.id} label={words('copyId')} />],
      ]}
    />
  )
}

/** The enterprise's own budget, the platform's cap, and the one that holds. */
function Caps({ enterprise }: SettingsProps): ReactNode {
  const t = useWords('settings')
  const words = useWords('enterprise')
  const { monthly_budget: own, platform_monthly_budget: cap } = enterprise
  const count = (value: number | null): ReactNode =>
    value === null ? (
      <Nothing why={words('limits.none')} />
    ) : (
      <>
        <Count value={value} /> <span className="muted note">{t('byPlatform')}</span>
      </>
    )
  const money = (value: number | null): ReactNode =>
    value === null ? <Nothing why={words('limits.none')} /> : <Money micro={value} />
  const holds = own === null ? cap : cap === null ? own : Math.min(own, cap)
  return (
    <Facts
      rows={[
        [t('spent'), <SpendMeter key="spend" spend={enterprise.spend} />],
        [t('ownBudget'), money(own)],
        [t('platformBudget'), money(cap)],
        [t('holds'), money(holds)],
        [words('limits.rpm'), count(enterprise.rpm)],
        [words('limits.tpm'), count(enterprise.tpm)],
        [words('limits.max_concurrency'), count(enterprise.max_concurrency)],
      ]}
    />
  )
}

function Budgets(props: SettingsProps): ReactNode {
  const { scope, enterprise } = props
  const [edits, setEdits] = useState<Partial<LimitDraft>>({})
  const [errors, setErrors] = useState<LimitErrors>({})
  const draft = useDraft<LimitDraft>(
    props,
    LIMIT_FIELDS,
    edits,
    () => {
      setEdits({})
      setErrors({})
    },
    () => {
      const found = limitErrorsOf(edits)
      setErrors(found)
      return Object.keys(found).length > 0 ? null : limitBodyOf(edits)
    },
  )
  return (
    <form className={classes.form} noValidate onSubmit={draft.save} style={{ marginTop: 12 }}>
      <LimitFields
        scope={scope}
        draft={{ ...limitDraftOf(enterprise), ...edits }}
        errors={errors}
        toldOf={draft.toldOf}
        hasRates={false}
        onChange={(change) => {
          setEdits({ ...edits, ...change })
          setErrors({})
        }}
      />
      <SaveActs
        isEdited={draft.isEdited}
        isBusy={draft.isBusy}
        isConflict={draft.isConflict}
        cause={draft.cause}
        onDiscard={draft.discard}
      />
    </form>
  )
}

interface CaptureDraft {
  readonly requests: boolean
  readonly answers: boolean
  /** Percent. */
  readonly sample: number
  readonly redact: readonly string[]
  readonly retain_days: number
}

function Capture(props: SettingsProps): ReactNode {
  const t = useWords('settings')
  const { capture } = props.enterprise
  const [edits, setEdits] = useState<Partial<CaptureDraft>>({})
  const stored: CaptureDraft = {
    requests: capture?.requests ?? false,
    answers: capture?.answers ?? false,
    sample: Math.round((capture?.sample ?? 1) * 10_000) / 100,
    redact: capture?.redact ?? [],
    retain_days: capture?.retain_days ?? DAYS,
  }
  const values = { ...stored, ...edits }
  const isOn = values.requests || values.answers
  const draft = useDraft<CaptureDraft>(
    props,
    [],
    edits,
    () => {
      setEdits({})
    },
    () => ({
      capture: isOn ? { ...values, redact: [...values.redact], sample: values.sample / 100 } : null,
    }),
  )
  const set = (change: Partial<CaptureDraft>): void => {
    setEdits({ ...edits, ...change })
  }
  return (
    <form className={classes.form} noValidate onSubmit={draft.save}>
      <Switch
        label={t('captureRequests')}
        checked={values.requests}
        onChange={(event) => {
          set({ requests: event.currentTarget.checked })
        }}
      />
      <Switch
        label={t('captureAnswers')}
        checked={values.answers}
        onChange={(event) => {
          set({ answers: event.currentTarget.checked })
        }}
      />
      {isOn && (
        <>
          <div className={classes.pair}>
            <NumberInput
              label={t('sample')}
              value={values.sample}
              min={0}
              max={100}
              suffix=" %"
              hideControls
              onChange={(value) => {
                set({ sample: Number(value) || 0 })
              }}
            />
            <NumberInput
              label={t('retain')}
              value={values.retain_days}
              min={1}
              max={MAX_DAYS}
              allowDecimal={false}
              hideControls
              onChange={(value) => {
                set({ retain_days: Number(value) || 1 })
              }}
            />
          </div>
          <TagsInput
            label={t('redact')}
            description={t('redactHint')}
            value={[...values.redact]}
            splitChars={[]}
            acceptValueOnBlur
            onChange={(redact) => {
              set({ redact })
            }}
          />
        </>
      )}
      <SaveActs
        isEdited={draft.isEdited}
        isBusy={draft.isBusy}
        isConflict={draft.isConflict}
        cause={draft.cause}
        onDiscard={draft.discard}
      />
    </form>
  )
}

function CaptureFacts({ enterprise: { capture } }: SettingsProps): ReactNode {
  const t = useWords('settings')
  const yes = (value: boolean | undefined): string => (value === true ? t('on') : t('off'))
  return (
    <Facts
      rows={[
        [t('captureRequests'), yes(capture?.requests)],
        [t('captureAnswers'), yes(capture?.answers)],
      ]}
    />
  )
}
