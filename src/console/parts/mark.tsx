import type { ReactNode } from 'react'
import classes from './mark.module.css'

const MOST = 99

/** A number beside a link: things that wait. */
export function Mark({ count, label }: { readonly count: number; readonly label: string }): ReactNode {
  return (
    <span className={classes.mark}>
      <span aria-hidden="true">{count > MOST ? `${MOST}+` : count}</span>
      <span className="hidden">, {label}</span>
    </span>
  )
}
