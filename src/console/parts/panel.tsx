import { ActionIcon, Drawer } from '@mantine/core'
import { useEffect, useState } from 'react'
import type { ReactNode } from 'react'
import { isOverlayOpen } from '../shell/hotkeys.ts'
import { useWords } from '../words/index.ts'
import { Icon } from './icons.tsx'
import { Boundary } from './states.tsx'
import classes from './panel.module.css'

interface PanelProps {
  readonly title: ReactNode
  readonly label: string
  readonly onClose: () => void
  /** Beside the title. */
  readonly acts?: ReactNode
  readonly children: ReactNode
  readonly width?: number
}

/** The detail of a row, beside its list: the list stays usable, and J and K go through it. On a phone it covers the page. */
export function Panel({ title, label, onClose, acts, children, width = 560 }: PanelProps): ReactNode {
  const t = useWords('common')
  const isNarrow = useNarrow()
  useEffect(() => {
    if (isNarrow) return undefined
    const listen = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape' || event.defaultPrevented) return
      if (isOverlayOpen()) return
      onClose()
    }
    addEventListener('keydown', listen)
    return () => {
      removeEventListener('keydown', listen)
    }
  }, [isNarrow, onClose])
  const content = (
    <>
      <header className={classes.head}>
        <h2 className={classes.title} tabIndex={-1} data-autofocus>
          {title}
        </h2>
        {acts}
        <ActionIcon aria-label={t('close')} title={`${t('close')} (Esc)`} onClick={onClose}>
          <Icon name="cross" />
        </ActionIcon>
      </header>
      <div className={classes.content}>
        <Boundary name={label}>{children}</Boundary>
      </div>
    </>
  )
  if (isNarrow) {
    return (
      <Drawer
        opened
        onClose={onClose}
        position="bottom"
        size="100%"
        padding={0}
        withCloseButton={false}
        attributes={{ content: { 'aria-label': label } }}
        classNames={{ body: classes.drawer ?? '' }}
      >
        {content}
      </Drawer>
    )
  }
  return (
    <aside className={classes.panel} aria-label={label} style={{ width }}>
      {content}
    </aside>
  )
}

const NARROW = '(max-width: 960px)'

function useNarrow(): boolean {
  const [isNarrow, setIsNarrow] = useState(() => matchMedia(NARROW).matches)
  useEffect(() => {
    const query = matchMedia(NARROW)
    const change = (): void => {
      setIsNarrow(query.matches)
    }
    query.addEventListener('change', change)
    return () => {
      query.removeEventListener('change', change)
    }
  }, [])
  return isNarrow
}
