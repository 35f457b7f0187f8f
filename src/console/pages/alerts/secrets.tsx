import { Button, Modal } from '@mantine/core'
import type { ReactNode } from 'react'
import { CopyButton } from '../../parts/copy.tsx'
import { Icon } from '../../parts/icons.tsx'
import { useWords } from '../../words/index.ts'
import type { NewAlert } from './alert-calls.ts'
import classes from '../../parts/form.module.css'

/** A secret that signs what a webhook gets. */
export interface ShownSecret {
  readonly webhook: string
  readonly secret: string
}

export function secretsOf({ channels }: NewAlert): readonly ShownSecret[] {
  return channels.flatMap(({ webhook, secret }) => (webhook === null || secret === null ? [] : [{ webhook, secret }]))
}

interface SecretsProps {
  readonly secrets: readonly ShownSecret[]
  readonly onClose: () => void
}

/** They are in the memory of the component alone. It is left only by its button. */
export function Secrets({ secrets, onClose }: SecretsProps): ReactNode {
  const t = useWords('alerts')
  const common = useWords('common')
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('secrets')}
      size={640}
      closeOnClickOutside={false}
      closeOnEscape={false}
      closeButtonProps={{ 'aria-label': common('close') }}
    >
      <div className={`${classes.form} ${classes.wide}`}>
        <p className={classes.warning}>
          <Icon name="alert" />
          {t('once')}
        </p>
        {secrets.map(({ webhook, secret }) => (
          <div key={webhook}>
            <div className="muted note" style={{ overflowWrap: 'anywhere' }}>
              {webhook}
            </div>
            <div style={{ display: 'flex', alignItems: 'center', gap: 8 }}>
              <code className={classes.code} data-testid="webhook-secret">
                {secret}
              </code>
              <CopyButton text={secret} label={t('copySecret')} variant="filled" />
            </div>
          </div>
        ))}
        <div className={classes.acts}>
          <Button variant="default" onClick={onClose}>
            {t('saved')}
          </Button>
        </div>
      </div>
    </Modal>
  )
}
