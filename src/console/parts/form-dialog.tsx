import { Button, Modal } from '@mantine/core'
import type { ReactNode } from 'react'
import { useWords } from '../words/index.ts'
import { FormEnd, SaveActs } from './form-end.tsx'
import type { Submission } from './submission.ts'
import classes from './form.module.css'

interface FormDialogProps {
  readonly title: string
  /** The verb. */
  readonly act: string
  readonly submission: Submission
  readonly children: ReactNode
  readonly isDisabled?: boolean
  /** It takes something away. */
  readonly isDanger?: boolean
  /** Nothing must be filled in: the button has the focus. */
  readonly isReady?: boolean
  /** It has shown what it was opened for: it is closed, not cancelled. */
  readonly isDone?: boolean
  readonly size?: number
  readonly onSubmit: () => void
  readonly onClose: () => void
}

/** A form over the page. A stray click does not lose what was typed. */
export function FormDialog({
  title,
  act,
  submission,
  children,
  isDisabled = false,
  isDanger = false,
  isReady = false,
  isDone = false,
  size = 520,
  onSubmit,
  onClose,
}: FormDialogProps): ReactNode {
  const t = useWords('common')
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      size={size}
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <form
        className={`${classes.form} ${classes.wide}`}
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          if (!submission.isBusy) onSubmit()
        }}
      >
        {children}
        <FormEnd cause={submission.cause}>
          <Button variant="default" onClick={onClose}>
            {t(isDone ? 'close' : 'cancel')}
          </Button>
          <Button
            type="submit"
            {...(isDanger && { variant: 'danger' })}
            loading={submission.isBusy}
            disabled={isDisabled}
            data-autofocus={isReady || undefined}
          >
            {act}
          </Button>
        </FormEnd>
      </form>
    </Modal>
  )
}

interface EditsProps {
  readonly submission: Submission
  readonly isEdited: boolean
  readonly children: ReactNode
  readonly onSubmit: () => void
  readonly onDiscard: () => void
}

/** A form within a panel: its buttons appear with the first edit. */
export function EditForm({ submission, isEdited, children, onSubmit, onDiscard }: EditsProps): ReactNode {
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        if (!submission.isBusy) onSubmit()
      }}
    >
      {children}
      <SaveActs
        isEdited={isEdited}
        isBusy={submission.isBusy}
        cause={submission.cause}
        onDiscard={() => {
          submission.forget()
          onDiscard()
        }}
      />
    </form>
  )
}
