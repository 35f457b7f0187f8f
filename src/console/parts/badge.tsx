import type { ReactNode } from 'react'
import { Icon } from './icons.tsx'
import type { IconName } from './icons.tsx'
import classes from './badge.module.css'

export type Tone = 'good' | 'warn' | 'bad' | 'accent' | 'plain'

interface BadgeProps {
  readonly tone: Tone
  readonly icon: IconName
  readonly children: ReactNode
  readonly title?: string | undefined
}

/** A state: an icon and a word; the colour only repeats them. */
export function Badge({ tone, icon, children, title }: BadgeProps): ReactNode {
  return (
    <span className={classes.badge} data-tone={tone} title={title}>
      <Icon name={icon} size={12} />
      {children}
    </span>
  )
}
