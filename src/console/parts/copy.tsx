import { ActionIcon, Button } from '@mantine/core'
import { useEffect, useState } from 'react'
import type { ReactNode } from 'react'
import { useWords } from '../words/index.ts'
import { Icon } from './icons.tsx'
import { toast } from './toasts.tsx'

const SHOWN_MS = 1_500

/** Copies a text, and says so; where the browser forbids it, says that too. */
export function useCopy(): { readonly isCopied: boolean; readonly copy: (text: string) => void } {
  const t = useWords('common')
  const [isCopied, setIsCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return undefined
    const timer = setTimeout(() => {
      setIsCopied(false)
    }, SHOWN_MS)
    return () => {
      clearTimeout(timer)
    }
  }, [isCopied])
  const copy = (text: string): void => {
    writeText(text).then(
      () => {
        setIsCopied(true)
      },
      () => {
        toast('bad', t('copyFailed'))
      },
    )
  }
  return { isCopied, copy }
}

/** Pages that are not served over TLS have no `navigator.clipboard`. */
async function writeText(text: string): Promise<void> {
  if (isSecureContext) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  area.style.position = 'fixed'
  area.style.opacity = '0'
  // Inside of an open dialog: it keeps the focus within itself.
  const place = document.activeElement?.closest('[role="dialog"]') ?? document.body
  place.append(area)
  area.select()
  const isDone = document.execCommand('copy')
  area.remove()
  if (!isDone) throw new Error('The browser does not allow copying.')
}

interface CopyProps {
  readonly text: string
  /** The name of the copied thing, for screen readers. */
  readonly label: string
}

export function CopyIcon({ text, label }: CopyProps): ReactNode {
  const { isCopied, copy } = useCopy()
  const t = useWords('common')
  return (
    <ActionIcon
      aria-label={isCopied ? t('copied') : label}
      title={label}
      size={24}
      onClick={() => {
        copy(text)
      }}
    >
      <Icon name={isCopied ? 'check' : 'copy'} size={14} />
    </ActionIcon>
  )
}

export function CopyButton({
  text,
  label,
  variant = 'default',
}: CopyProps & { readonly variant?: 'default' | 'filled' }): ReactNode {
  const { isCopied, copy } = useCopy()
  const t = useWords('common')
  return (
    <Button
      variant={variant}
      leftSection={<Icon name={isCopied ? 'check' : 'copy'} size={14} />}
      onClick={() => {
        copy(text)
      }}
    >
      {isCopied ? t('copied') : label}
    </Button>
  )
}

/** An id that can be copied. */
export function Id({ id, label }: { readonly id: string; readonly label: string }): ReactNode {
  return (
    <span style={{ display: 'inline-flex', alignItems: 'center', gap: 4, maxWidth: '100%' }}>
      <code style={{ overflowWrap: 'anywhere' }}>{id}</code>
      <CopyIcon text={id} label={label} />
    </span>
  )
}
