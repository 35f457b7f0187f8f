import { PasswordInput } from '@mantine/core'
import { useId } from 'react'
import type { ReactNode } from 'react'
import { useWords } from '../../words/index.ts'
import classes from './account.module.css'

export function AccountSection({
  title,
  children,
}: {
  readonly title: string
  readonly children: ReactNode
}): ReactNode {
  const id = useId()
  return (
    <section className={classes.section} aria-labelledby={id}>
      <h2 className={classes.title} id={id}>
        {title}
      </h2>
      {children}
    </section>
  )
}

interface OwnPasswordProps {
  readonly value: string
  readonly error: string | undefined
  readonly onChange: (value: string) => void
  readonly label?: string
}

/** The present password, which the gateway asks for before it changes how somebody logs in. */
export function OwnPassword({ value, error, onChange, label }: OwnPasswordProps): ReactNode {
  const t = useWords('account')
  const common = useWords('common')
  return (
    <PasswordInput
      label={label ?? t('password')}
      description={t('passwordHint')}
      autoComplete="current-password"
      value={value}
      error={error}
      visibilityToggleButtonProps={{ 'aria-label': common('login.showPassword') }}
      onChange={(event) => {
        onChange(event.currentTarget.value)
      }}
    />
  )
}
