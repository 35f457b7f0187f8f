import type { FormEvent } from 'react'
import type { RequestOf } from '../../../client/index.ts'
import { refresh } from '../../api/queries.ts'
import { call } from '../../api/session.ts'
import type { Enterprise } from '../../parts/enterprise.ts'
import type { SaveActsProps } from '../../parts/form-end.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { toast } from '../../parts/toasts.tsx'
import { told } from '../../parts/told.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'

type Change = NonNullable<RequestOf<'updateEnterprise'>['body']>

export interface SettingsProps {
  readonly scope: Scope
  readonly enterprise: Enterprise
  readonly etag: string | null
}

async function update(id: string, body: Change, etag: string | null): Promise<void> {
  await call('updateEnterprise', { params: { id }, body }, etag === null ? {} : { ifMatch: etag })
  await refresh('enterpriseSettings', 'getEnterprise', 'me')
}

interface Draft {
  /** The end of the form. */
  readonly acts: SaveActsProps
  /** The gateway's own words about a field. */
  readonly toldOf: (field: string) => string | undefined
  readonly save: (event: FormEvent) => void
}

/** One section: its edits lie over the stored values, are saved together, and can be taken back. */
export function useDraft<Values extends object>(
  { enterprise, etag }: SettingsProps,
  fields: readonly string[],
  edits: Partial<Values>,
  clear: () => void,
  bodyOf: () => Change | null,
): Draft {
  const words = useWords('enterprise')
  const act = useSubmission(fields)
  const { id } = enterprise
  const save = async (): Promise<void> => {
    const body = bodyOf()
    if (body === null || !(await act.run(() => update(id, body, etag)))) return
    clear()
    const names = Object.keys(body) as Array<keyof Change & keyof Enterprise>
    const back = Object.fromEntries(names.map((name) => [name, enterprise[name]]))
    toast('good', words('changed'), () => {
      told(update(id, back, null))
    })
  }
  return {
    acts: {
      isEdited: Object.keys(edits).length > 0,
      isBusy: act.isBusy,
      cause: act.cause,
      onDiscard: () => {
        clear()
        act.forget()
      },
    },
    toldOf: act.toldOf,
    save: (event) => {
      event.preventDefault()
      void save()
    },
  }
}
