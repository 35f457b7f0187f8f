import { Button, PasswordInput } from '@mantine/core'
import { useEffect, useEffectEvent, useState } from 'react'
import type { FormEvent, ReactNode } from 'react'
import { isSilent } from '../../api/queries.ts'
import { Icon } from '../../parts/icons.tsx'
import { FormError } from '../../parts/states.tsx'
import { useMoney } from '../../parts/values.tsx'
import { useScope } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { createKey, deleteKey } from '../keys/key-calls.ts'
import classes from './playground-page.module.css'

const LIFE_MS = 3_600_000
const RPM = 60
const CONCURRENCY = 4
const BUDGET = 1_000_000

/** The key of this page. It is in the state of the page alone: in no storage, no URL and no query. */
export interface ChosenKey {
  readonly secret: string
  /** Of a key that the page made, and deletes again; null: it was pasted. */
  readonly madeId: string | null
}

/**
 * Deletes a key that the page has made when the page is left, reloaded or closed, or the key is given up; it also ends by itself.
 * `onGone` runs when the browser leaves: it may show the page again as it was.
 */
export function useMadeKey(scope: Scope, chosen: ChosenKey | null, onGone: () => void): void {
  const madeId = chosen?.madeId ?? null
  const remove = useEffectEvent((id: string) => {
    deleteKey(scope, id).catch((cause: unknown) => {
      // It expires within the hour.
      if (!isSilent(cause)) return
    })
  })
  const gone = useEffectEvent(onGone)
  useEffect(() => {
    if (madeId === null) return undefined
    let isRemoved = false
    const end = (): void => {
      if (!isRemoved) remove(madeId)
      isRemoved = true
    }
    const leave = (): void => {
      end()
      gone()
    }
    addEventListener('pagehide', leave)
    return () => {
      removeEventListener('pagehide', leave)
      end()
    }
  }, [madeId])
}

export function KeyChoice({ onChoose }: { readonly onChoose: (key: ChosenKey) => void }): ReactNode {
  const t = useWords('playground')
  const scope = useScope()
  const { money } = useMoney()
  const [pasted, setPasted] = useState('')
  const [isMissing, setIsMissing] = useState(false)
  const [cause, setCause] = useState<unknown>(null)
  const [isBusy, setIsBusy] = useState(false)
  const make = async (): Promise<void> => {
    setIsBusy(true)
    setCause(null)
    try {
      const { id, key } = await createKey(scope, {
        name: t('keyName'),
        rpm: RPM,
        max_concurrency: CONCURRENCY,
        expires_at: new Date(Date.now() + LIFE_MS).toISOString(),
        ...(scope.kind === 'enterprise' ? { monthly_budget: BUDGET } : {}),
      })
      onChoose({ secret: key, madeId: id })
    } catch (failed) {
      setCause(failed)
    } finally {
      setIsBusy(false)
    }
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (pasted.trim() === '') setIsMissing(true)
    else onChoose({ secret: pasted.trim(), madeId: null })
  }
  const budget = money(BUDGET)
  return (
    <section className={classes.keyChoice} aria-label={t('whichKey')}>
      <div>
        <h2>{t('whichKey')}</h2>
        <p className="muted">
          {scope.kind === 'enterprise' ? t('madeAboutBudget', { budget, rpm: RPM }) : t('madeAbout', { rpm: RPM })}
        </p>
        <Button
          leftSection={<Icon name="key" size={14} />}
          loading={isBusy}
          onClick={() => {
            void make()
          }}
        >
          {t('makeKey')}
        </Button>
      </div>
      <form onSubmit={submit} noValidate>
        <PasswordInput
          label={t('pasteKey')}
          description={t('pasteAbout')}
          placeholder={t('keyExample')}
          autoComplete="off"
          spellCheck={false}
          value={pasted}
          error={isMissing ? t('keyMissing') : undefined}
          visibilityToggleButtonProps={{ 'aria-label': t('showKey') }}
          onChange={(event) => {
            setPasted(event.currentTarget.value)
            setIsMissing(false)
          }}
        />
        <Button type="submit" variant="default">
          {t('useKey')}
        </Button>
      </form>
      <FormError cause={cause} />
    </section>
  )
}
