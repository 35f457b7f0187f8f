import { toast } from '../../parts/toasts.tsx'
import { tellFailure } from '../../parts/told.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { toggleKey } from './key-calls.ts'
import type { AnyKey } from './key-calls.ts'

/** Turns a key off or on: seen at once, told with a way back, and seen again as it was when the gateway refuses. */
export function useToggle(scope: Scope): (key: Pick<AnyKey, 'id' | 'name' | 'enabled'>) => void {
  const t = useWords('keys')
  const set = (id: string, enabled: boolean, told: () => void): void => {
    toggleKey(scope, id, enabled).then(told, tellFailure)
  }
  return ({ id, name, enabled }) => {
    set(id, !enabled, () => {
      toast('good', t(enabled ? 'turnedOff' : 'turnedOn', { name }), () => {
        set(id, enabled, () => undefined)
      })
    })
  }
}
