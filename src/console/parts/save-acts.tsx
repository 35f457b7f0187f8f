import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { useWords } from '../words/index.ts'
import { FormEnd } from './form-dialog.tsx'
import classes from './form.module.css'

export interface SaveActsProps {
  /** There is something to save. */
  readonly isEdited: boolean
  readonly isBusy: boolean
  /** Somebody else has changed the same meanwhile. */
  readonly isConflict?: boolean
  /** Of the last attempt, unless it is told at a field. */
  readonly cause: unknown
  readonly onDiscard: () => void
}

/** The end of a form of a page of an enterprise: the failure of the last attempt, and the buttons once something was changed. */
export function SaveActs({ isEdited, isBusy, isConflict = false, cause, onDiscard }: SaveActsProps): ReactNode {
  const common = useWords('common')
  const words = useWords('enterprise')
  return (
    <>
      {isConflict && <p className={classes.warning}>{words('conflict')}</p>}
      <FormEnd cause={isConflict ? null : cause}>
        {isEdited && (
          <>
            <Button variant="default" onClick={onDiscard}>
              {words('discard')}
            </Button>
            <Button type="submit" loading={isBusy}>
              {common('save')}
            </Button>
          </>
        )}
      </FormEnd>
    </>
  )
}
