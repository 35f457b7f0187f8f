import { CloseButton, TextInput } from '@mantine/core'
import { useEffect, useEffectEvent, useRef, useState } from 'react'
import type { ReactNode } from 'react'
import { useKey } from '../shell/hotkeys.ts'
import { useWords } from '../words/index.ts'
import { Icon } from './icons.tsx'
import classes from './search-field.module.css'

const WAIT_MS = 250

interface SearchFieldProps {
  readonly value: string
  readonly label: string
  readonly placeholder: string
  /** Called when the typing has paused. */
  readonly onSearch: (text: string) => void
  readonly width?: number
}

/** A text that the server searches for: asked after a pause, focused by `/`. */
export function SearchField({ value, label, placeholder, onSearch, width = 260 }: SearchFieldProps): ReactNode {
  const t = useWords('common')
  const input = useRef<HTMLInputElement>(null)
  const [text, setText] = useState(value)
  const [known, setKnown] = useState(value)
  // The URL has changed without this field: Back, or "clear filters".
  if (known !== value) {
    setKnown(value)
    if (text.trim() !== value) setText(value)
  }
  useKey(['/'], (event) => {
    event.preventDefault()
    input.current?.focus()
  })
  const tell = useEffectEvent(() => {
    if (text.trim() !== value) onSearch(text.trim())
  })
  useEffect(() => {
    const timer = setTimeout(() => {
      tell()
    }, WAIT_MS)
    return () => {
      clearTimeout(timer)
    }
  }, [text])
  return (
    <TextInput
      ref={input}
      aria-label={label}
      placeholder={placeholder}
      leftSection={<Icon name="search" size={14} />}
      rightSection={
        text === '' ? undefined : (
          <CloseButton
            size="sm"
            aria-label={t('clear')}
            onClick={() => {
              setText('')
              onSearch('')
            }}
          />
        )
      }
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value)
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter') onSearch(text.trim())
        if (event.key === 'Escape') input.current?.blur()
      }}
      className={classes.search ?? ''}
      style={{ '--width': `${width}px` }}
      spellCheck={false}
      autoComplete="off"
    />
  )
}
