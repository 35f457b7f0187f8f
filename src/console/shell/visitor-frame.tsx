import { useEffect } from 'react'
import type { ReactNode } from 'react'
import { Icon, Sign } from '../parts/icons.tsx'
import { useWords } from '../words/index.ts'
import { LanguageSwitch, ThemeSwitch } from './choices.tsx'
import classes from './login.module.css'

interface VisitorFrameProps {
  readonly title: string
  readonly about: string
  readonly children: ReactNode
}

/** The frame of the pages for people who are not logged in. */
export function VisitorFrame({ title, about, children }: VisitorFrameProps): ReactNode {
  const t = useWords('common')
  const product = t('product')
  useEffect(() => {
    document.title = `${title} · ${product}`
  }, [title, product])
  return (
    <main className={classes.page}>
      <div className={classes.panel}>
        <div className={classes.sign}>
          <Sign size={36} />
        </div>
        <h1 className={classes.title}>{title}</h1>
        <p className={classes.about}>{about}</p>
        {children}
      </div>
      <footer className={classes.foot}>
        <LanguageSwitch />
        <ThemeSwitch />
        <a href="/docs" className={classes.link}>
          <Icon name="book" size={14} />
          {t('login.docs')}
        </a>
      </footer>
    </main>
  )
}
