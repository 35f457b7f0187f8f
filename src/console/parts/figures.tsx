import type { ReactNode } from 'react'
import { Link } from 'wouter'
import classes from './figures.module.css'

export interface Figure {
  readonly name: string
  readonly value: ReactNode
  /** Below the value. */
  readonly note?: ReactNode
  readonly href?: string
}

/** Numbers that stand alone, side by side. */
export function Figures({
  label,
  figures,
}: {
  readonly label: string
  readonly figures: readonly Figure[]
}): ReactNode {
  return (
    <dl className={classes.figures} aria-label={label}>
      {figures.map(({ name, value, note, href }) => (
        <div key={name} className={classes.figure}>
          <dt className={classes.name}>{name}</dt>
          <dd className={classes.value}>{href === undefined ? value : <Link href={href}>{value}</Link>}</dd>
          {note !== undefined && <dd className={classes.note}>{note}</dd>}
        </div>
      ))}
    </dl>
  )
}
