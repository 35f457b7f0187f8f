import { ActionIcon, Portal } from '@mantine/core'
import { useEffect, useSyncExternalStore } from 'react'
import type { ReactNode } from 'react'
import { useWords } from '../words/index.ts'
import { Icon } from './icons.tsx'
import type { IconName } from './icons.tsx'
import classes from './toasts.module.css'

const SHOWN_MS = 5_000
/** As long as an undo is offered. */
const UNDO_MS = 10_000
const MAX_TOASTS = 4

interface Toast {
  readonly id: number
  readonly kind: 'good' | 'bad' | 'note'
  readonly text: string
  readonly undo?: () => void
}

let toasts: readonly Toast[] = []
let lastId = 0
const listeners = new Set<() => void>()

function change(next: readonly Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

/** Tells what happened, at the edge of the page. With `undo`, it can be taken back for ten seconds. */
export function toast(kind: Toast['kind'], text: string, undo?: () => void): void {
  lastId += 1
  const added = { id: lastId, kind, text, ...(undo === undefined ? {} : { undo }) }
  change([...toasts, added].slice(-MAX_TOASTS))
}

function dismiss(id: number): void {
  change(toasts.filter((one) => one.id !== id))
}

export function dismissAll(): void {
  change([])
}

const ICONS = { good: 'check', bad: 'alert', note: 'clock' } as const satisfies Record<Toast['kind'], IconName>

export function Toasts(): ReactNode {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
    () => toasts,
  )
  return (
    <Portal>
      <div className={classes.stack} role="status" aria-live="polite">
        {shown.map((one) => (
          <ToastBox key={one.id} toast={one} />
        ))}
      </div>
    </Portal>
  )
}

function ToastBox({ toast: { id, kind, text, undo } }: { readonly toast: Toast }): ReactNode {
  const t = useWords('common')
  useEffect(() => {
    const timer = setTimeout(
      () => {
        dismiss(id)
      },
      undo === undefined ? SHOWN_MS : UNDO_MS,
    )
    return () => {
      clearTimeout(timer)
    }
  }, [id, undo])
  return (
    <div className={classes.toast} data-kind={kind}>
      <span className={classes.icon}>
        <Icon name={ICONS[kind]} />
      </span>
      <span className={classes.text}>{text}</span>
      {undo !== undefined && (
        <button
          type="button"
          className={classes.undo}
          onClick={() => {
            dismiss(id)
            undo()
          }}
        >
          {t('undo')}
        </button>
      )}
      <ActionIcon
        aria-label={t('close')}
        size={24}
        onClick={() => {
          dismiss(id)
        }}
      >
        <Icon name="cross" size={14} />
      </ActionIcon>
    </div>
  )
}
