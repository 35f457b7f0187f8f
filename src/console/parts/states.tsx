import { Button } from '@mantine/core'
import { Component } from 'react'
import type { ReactNode } from 'react'
import { failureOf } from '../api/failures.ts'
import { isSilent } from '../api/queries.ts'
import { useWords } from '../words/index.ts'
import { Id } from './copy.tsx'
import { Icon } from './icons.tsx'
import type { IconName } from './icons.tsx'
import classes from './states.module.css'

interface EmptyProps {
  readonly icon: IconName
  readonly title: string
  readonly text?: string
  /** The first step. */
  readonly children?: ReactNode
}

/** Nothing yet, or no match: says what will be here, and the first step. */
export function Empty({ icon, title, text, children }: EmptyProps): ReactNode {
  return (
    <div className={classes.state}>
      <span className={classes.icon}>
        <Icon name={icon} size={20} />
      </span>
      <p className={classes.title}>{title}</p>
      {text !== undefined && <p className={classes.text}>{text}</p>}
      {children !== undefined && <div className={classes.acts}>{children}</div>}
    </div>
  )
}

interface FailedProps {
  readonly cause: unknown
  readonly retry?: (() => void) | undefined
}

/** A panel that could not be shown: what failed, the request id, and a way on. */
export function Failed({ cause, retry }: FailedProps): ReactNode {
  const t = useWords('common')
  if (isSilent(cause)) return null
  const { title, detail, requestId } = failureOf(cause)
  return (
    <div className={classes.state} role="alert">
      <span className={classes.icon} data-bad="">
        <Icon name="alert" size={20} />
      </span>
      <p className={classes.title}>{title}</p>
      {detail !== null && <p className={classes.text}>{detail}</p>}
      {requestId !== null && (
        <p className={classes.note}>
          {t('requestId')} <Id id={requestId} label={t('copyRequestId')} />
        </p>
      )}
      {retry !== undefined && (
        <div className={classes.acts}>
          <Button variant="default" leftSection={<Icon name="refresh" size={14} />} onClick={retry}>
            {t('tryAgain')}
          </Button>
        </div>
      )}
    </div>
  )
}

/** The same within a form, above its buttons. */
export function FormError({ cause }: { readonly cause: unknown }): ReactNode {
  const t = useWords('common')
  if (cause === null || cause === undefined || isSilent(cause)) return null
  const { title, detail, requestId } = failureOf(cause)
  return (
    <div className={classes.formError} role="alert">
      <Icon name="alert" />
      <div>
        <p className={classes.formTitle}>{title}</p>
        {detail !== null && <p className={classes.formText}>{detail}</p>}
        {requestId !== null && (
          <p className={classes.formText}>
            {t('requestId')} <Id id={requestId} label={t('copyRequestId')} />
          </p>
        )}
      </div>
    </div>
  )
}

/** A defect of one panel leaves the others alone. */
export class Boundary extends Component<
  { readonly children: ReactNode; readonly name: string },
  { readonly cause: unknown }
> {
  override state: { readonly cause: unknown } = { cause: null }

  static getDerivedStateFromError(cause: unknown): { readonly cause: unknown } {
    return { cause }
  }

  override componentDidUpdate(before: { readonly name: string }): void {
    if (before.name !== this.props.name && this.state.cause !== null) this.setState({ cause: null })
  }

  override render(): ReactNode {
    if (this.state.cause === null) return this.props.children
    return (
      <Failed
        cause={this.state.cause}
        retry={() => {
          // A new release has other names for its files: only the page can find them.
          if (isMissingFile(this.state.cause)) location.reload()
          else this.setState({ cause: null })
        }}
      />
    )
  }
}

function isMissingFile(cause: unknown): boolean {
  return cause instanceof TypeError && /import|module/i.test(cause.message)
}
