import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { FormEvent, ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { remember } from '../../api/preferences.ts'
import { failureOf } from '../../api/failures.ts'
import { useRead } from '../../api/queries.ts'
import { Badge } from '../../parts/badge.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Page } from '../../parts/page.tsx'
import { FormError } from '../../parts/states.tsx'
import { Duration, Money, Time } from '../../parts/values.tsx'
import { pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { createKey } from '../keys/key-calls.ts'
import type { NewKey } from '../keys/key-calls.ts'
import { ShownOnce } from '../keys/shown-once.tsx'
import type { PageProps } from '../page-props.ts'
import { ERROR_TYPES, Status } from '../requests/columns.tsx'
import { useLatest } from '../requests/log-calls.ts'
import type { LogRow } from '../requests/log-calls.ts'
import { useLive } from '../requests/use-live.ts'
import classes from './first-steps-page.module.css'

const MOST_ROWS = 20

/** From nothing to the first answered request: a key, an example, and the request as it arrives. */
export function FirstStepsPage({ scope }: PageProps): ReactNode {
  const t = useWords('first-steps')
  const [, navigate] = useLocation()
  const [made, setMade] = useState<NewKey | null>(null)
  const keys = useKeyCount(scope)
  const { answered, refused } = useFirstRequest(scope, made?.id ?? null)
  const hasKey = made !== null || (keys ?? 0) > 0
  return (
    <Page
      title={t('title')}
      about={t('about')}
      acts={
        answered === null && (
          <Button
            variant="subtle"
            onClick={() => {
              remember('first-steps', 'skipped')
              navigate(pathIn(scope, '/overview'))
            }}
          >
            {t('skip')}
          </Button>
        )
      }
    >
      <ol className={classes.steps}>
        <Step number={1} isDone={hasKey} title={t('key.title')}>
          {made === null ? (
            <NewKeyForm scope={scope} keys={keys} onMade={setMade} />
          ) : (
            <p>{t('key.made', { name: made.name })}</p>
          )}
        </Step>
        <Step number={2} isDone={answered !== null} title={t('send.title')}>
          {made !== null ? (
            <div className={classes.once}>
              <ShownOnce scope={scope} secret={made.key} models={made.models} />
            </div>
          ) : (
            <p className="muted">{hasKey ? t('send.withOwn') : t('send.keyFirst')}</p>
          )}
        </Step>
        <Step number={3} isDone={answered !== null} title={t('watch.title')}>
          {answered === null ? (
            <>
              <p className={classes.waiting} role="status">
                <Icon name="live" />
                {hasKey ? t('watch.waiting') : t('watch.keyFirst')}
              </p>
              {refused !== null && <Refusal scope={scope} row={refused} />}
            </>
          ) : (
            <Arrived scope={scope} row={answered} />
          )}
        </Step>
      </ol>
    </Page>
  )
}

interface StepProps {
  readonly number: number
  readonly isDone: boolean
  readonly title: string
  readonly children: ReactNode
}

function Step({ number, isDone, title, children }: StepProps): ReactNode {
  const t = useWords('first-steps')
  return (
    <li className={classes.step} data-done={isDone || undefined}>
      <span className={classes.number} aria-hidden="true">
        {isDone ? <Icon name="check" size={14} /> : number}
      </span>
      <div className={classes.body}>
        <h2>
          {title}
          {isDone && <span className="hidden"> ({t('done')})</span>}
        </h2>
        {children}
      </div>
    </li>
  )
}

interface NewKeyFormProps {
  readonly scope: Scope
  /** Undefined: not known yet. */
  readonly keys: number | undefined
  readonly onMade: (key: NewKey) => void
}

function NewKeyForm({ scope, keys, onMade }: NewKeyFormProps): ReactNode {
  const t = useWords('first-steps')
  const [name, setName] = useState(() => t('key.name'))
  const [isBusy, setIsBusy] = useState(false)
  const [cause, setCause] = useState<unknown>(null)
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    setIsBusy(true)
    setCause(null)
    try {
      onMade(await createKey(scope, { name: name.trim() }))
    } catch (failed) {
      setCause(failed)
    } finally {
      setIsBusy(false)
    }
  }
  const failure = cause === null ? null : failureOf(cause)
  const isAtField = failure?.field === 'name'
  return (
    <>
      <p className="muted">{(keys ?? 0) > 0 ? t('key.more') : t('key.about')}</p>
      <form
        className={classes.form}
        noValidate
        onSubmit={(event) => {
          void submit(event)
        }}
      >
        <TextInput
          label={t('key.label')}
          maxLength={100}
          autoComplete="off"
          value={name}
          error={isAtField ? (failure?.detail ?? failure?.title) : undefined}
          onChange={(event) => {
            setName(event.currentTarget.value)
          }}
        />
        <Button
          type="submit"
          loading={isBusy}
          disabled={name.trim() === ''}
          title={name.trim() === '' ? t('key.missing') : undefined}
        >
          {t('key.create')}
        </Button>
      </form>
      {!isAtField && <FormError cause={cause} />}
    </>
  )
}

function Arrived({ scope, row }: { readonly scope: Scope; readonly row: LogRow }): ReactNode {
  const t = useWords('first-steps')
  return (
    <>
      <p className={classes.arrived} role="status">
        <Badge tone="good" icon="check">
          {t('watch.arrived')}
        </Badge>
        <strong>{row.model}</strong>
        <Duration ms={row.total_us / 1_000} />
        {row.cost !== null && <Money micro={row.cost} />}
        <Time at={row.time} isRelative />
      </p>
      <div className={classes.acts}>
        <Button component={Link} href={`${pathIn(scope, '/requests')}/${encodeURIComponent(row.id)}`}>
          {t('watch.open')}
        </Button>
        <Button component={Link} variant="default" href={pathIn(scope, '/overview')}>
          {t('watch.overview')}
        </Button>
      </div>
    </>
  )
}

/** A request came, and was refused: which one, why, and what to do. */
function Refusal({ scope, row }: { readonly scope: Scope; readonly row: LogRow }): ReactNode {
  const t = useWords('first-steps')
  const requests = useWords('requests')
  const known = ERROR_TYPES.find((one) => one === row.error_type)
  return (
    <div className={classes.refusal} role="status">
      <Status row={row} />
      <div>
        <p>
          {t('watch.refused')} <code>{row.error_code ?? row.status}</code>
          {row.model !== null && <> · {row.model}</>}
        </p>
        {known !== undefined && <p className="muted">{requests(`errorAdvice.${known}`)}</p>}
        <Link href={`${pathIn(scope, '/requests')}/${encodeURIComponent(row.id)}`}>{t('watch.open')}</Link>
      </div>
    </div>
  )
}

function useKeyCount(scope: Scope): number | undefined {
  const query = { limit: 1 }
  const own = useRead('listKeys', { query }, { isEnabled: scope.kind === 'own' })
  const enterprise = useRead(
    'listEnterpriseKeys',
    { params: { id: scope.kind === 'enterprise' ? scope.id : '' }, query },
    { isEnabled: scope.kind === 'enterprise' },
  )
  return (scope.kind === 'enterprise' ? enterprise : own).data?.total
}

interface First {
  readonly answered: LogRow | null
  /** The last one; only while none was answered. */
  readonly refused: LogRow | null
}

/** The newest request of the key that was made here, or of any key: from the log, then from its stream. */
function useFirstRequest(scope: Scope, keyId: string | null): First {
  const filter = keyId === null ? {} : { key_id: keyId }
  const [fresh, setFresh] = useState<readonly LogRow[]>([])
  const [isRefused, setIsRefused] = useState(false)
  const known = useLatest(scope, filter, MOST_ROWS)
  useLive({
    scope,
    query: filter,
    isOn: !isRefused,
    onRows: (rows) => {
      setFresh((shown) => [...rows, ...shown].slice(0, MOST_ROWS))
    },
    onGap: () => {
      void known.refetch()
    },
    onRefused: () => {
      setIsRefused(true)
    },
  })
  const rows = [...fresh.filter((row) => keyId === null || row.key_id === keyId), ...(known.data?.data ?? [])]
  // A list of models is no request to a model.
  const asked = rows.filter(({ model, status }) => model !== null || (status !== null && status >= 400))
  const answered = asked.find(({ status }) => status !== null && status < 400) ?? null
  const refused = asked.find(({ status }) => status === null || status >= 400) ?? null
  return { answered, refused: answered === null ? refused : null }
}
