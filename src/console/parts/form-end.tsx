import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { ApiError } from '../../client/index.ts'
import { PRECONDITION_FAILED } from '../api/session.ts'
import { useWords } from '../words/index.ts'
import { FormError } from './states.tsx'
import classes from './form.module.css'

interface FormEndProps {
  /** Of the last attempt. */
  readonly cause: unknown
  /** Shown in place of the failure. */
  readonly warning?: string | null
  /** Buttons; false: there are none at the moment. */
  readonly children: ReactNode
}

/** The failure of a form and its buttons, which stay in sight while the fields scroll. */
export function FormEnd({ cause, warning = null, children }: FormEndProps): ReactNode {
  return (
    <div className={classes.end}>
      {warning === null ? (
        <FormError cause={cause} />
      ) : (
        <p className={classes.warning} role="alert">
          {warning}
        </p>
      )}
      {children !== false && <div className={classes.acts}>{children}</div>}
    </div>
  )
}

export interface SaveActsProps {
  /** There is something to save. */
  readonly isEdited: boolean
  readonly isBusy: boolean
  /** Of the last attempt, unless it is told at a field. */
  readonly cause: unknown
  readonly onDiscard: () => void
}

/** The end of a form that changes what there is: its buttons appear with the first edit. */
export function SaveActs({ isEdited, isBusy, cause, onDiscard }: SaveActsProps): ReactNode {
  const t = useWords('common')
  const isConflict = cause instanceof ApiError && cause.statusCode === PRECONDITION_FAILED
  return (
    <FormEnd cause={cause} warning={isConflict ? t('conflict') : null}>
      {isEdited && (
        <>
          <Button variant="default" onClick={onDiscard}>
            {t('discard')}
          </Button>
          <Button type="submit" loading={isBusy}>
            {t('save')}
          </Button>
        </>
      )}
    </FormEnd>
  )
}
