import type { ReactNode } from 'react'
import { CopyIcon } from './copy.tsx'
import classes from './code.module.css'

interface CodeBlockProps {
  readonly text: string
  readonly label: string
  /** Long lines go on below, and a long text scrolls. */
  readonly isWrapped?: boolean
}

/** Lines to copy. */
export function CodeBlock({ text, label, isWrapped = false }: CodeBlockProps): ReactNode {
  return (
    <div className={classes.block}>
      <pre className={classes.text} data-wrapped={isWrapped || undefined} tabIndex={0} aria-label={label}>
        {text}
      </pre>
      <div className={classes.copy}>
        <CopyIcon text={text} label={label} />
      </div>
    </div>
  )
}
