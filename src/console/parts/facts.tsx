import type { ReactNode } from 'react'
import classes from './facts.module.css'

/** Names and values below each other. */
export function Facts({
  rows,
}: {
  readonly rows: ReadonlyArray<readonly [name: string, value: ReactNode]>
}): ReactNode {
  return (
    <dl className={classes.facts}>
      {rows.map(([name, value]) => (
        <div key={name} className={classes.row}>
          <dt className={classes.name}>{name}</dt>
          <dd className={classes.value}>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

export function Section({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactNode {
  return (
    <section className={classes.section}>
      <h3 className={classes.title}>{title}</h3>
      {children}
    </section>
  )
}
