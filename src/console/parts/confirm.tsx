import { Button, Modal, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { useWords } from '../words/index.ts'
import { FormError } from './states.tsx'
import classes from './confirm.module.css'

interface ConfirmProps {
  readonly title: string
  /** The counted loss. */
  readonly children: ReactNode
  /** The verb. */
  readonly act: string
  /** Must be typed, where nothing undoes it. */
  readonly name?: string
  /** A milder way, offered first. */
  readonly instead?: ReactNode
  readonly onConfirm: () => Promise<unknown>
  readonly onClose: () => void
}

/** Asks before something that cannot be undone. The dangerous button is never the focused one. */
export function Confirm({ title, children, act, name, instead, onConfirm, onClose }: ConfirmProps): ReactNode {
  const t = useWords('common')
  const [typed, setTyped] = useState('')
  const [cause, setCause] = useState<unknown>(null)
  const [isBusy, setIsBusy] = useState(false)
  const run = async (): Promise<void> => {
    setIsBusy(true)
    setCause(null)
    try {
      await onConfirm()
      onClose()
    } catch (failed) {
      setCause(failed)
    } finally {
      setIsBusy(false)
    }
  }
  return (
    <Modal opened onClose={onClose} title={title} size={480} closeButtonProps={{ 'aria-label': t('close') }}>
      <div className={classes.body}>
        {children}
        {name !== undefined && (
          <TextInput
            label={t('typeName', { name })}
            value={typed}
            autoComplete="off"
            spellCheck={false}
            onChange={(event) => {
              setTyped(event.currentTarget.value)
            }}
          />
        )}
        <FormError cause={cause} />
        <div className={classes.acts}>
          {instead}
          <div className={classes.pair}>
            <Button variant="default" onClick={onClose} data-autofocus>
              {t('cancel')}
            </Button>
            <Button
              variant="danger"
              loading={isBusy}
              disabled={name !== undefined && typed.trim() !== name}
              onClick={() => {
                void run()
              }}
            >
              {act}
            </Button>
          </div>
        </div>
      </div>
    </Modal>
  )
}
