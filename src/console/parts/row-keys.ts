import { useKey } from '../shell/hotkeys.ts'

interface RowKeys {
  /** In the order of the list. */
  readonly ids: readonly string[]
  readonly openId: string | null
  readonly onOpen: (id: string) => void
  /** Called at the last row: more of the list may follow. */
  readonly onEnd?: () => void
}

/** J and K go through the rows of a list, within its filter; the row that is left or entered is opened. */
export function useRowKeys({ ids, openId, onOpen, onEnd }: RowKeys): void {
  useKey(['j', 'k'], (event) => {
    const at = openId === null ? -1 : ids.indexOf(openId)
    const next = event.key === 'j' ? at + 1 : at - 1
    const id = ids[next]
    if (id !== undefined && next >= 0) onOpen(id)
    else if (event.key === 'j') onEnd?.()
  })
}
