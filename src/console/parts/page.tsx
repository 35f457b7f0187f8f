import type { ReactNode } from 'react'
import classes from './page.module.css'

interface PageProps {
  readonly title: string
  /** One sentence below the title. */
  readonly about?: string | undefined
  readonly acts?: ReactNode
  readonly children: ReactNode
}

/** A page: one title, its acts on the right, its content below. */
export function Page({ title, about, acts, children }: PageProps): ReactNode {
  return (
    <div className={classes.page}>
      <header className={classes.head}>
        <div className={classes.titles}>
          <h1 className={classes.title}>{title}</h1>
          {about !== undefined && <p className={classes.about}>{about}</p>}
        </div>
        {acts !== undefined && <div className={classes.acts}>{acts}</div>}
      </header>
      {children}
    </div>
  )
}
