import type { Scope } from '../shell/scope.ts'

export interface PageProps {
  readonly scope: Scope
  /** The id of the open row, which follows the page's own path; null: none is open. */
  readonly open: string | null
}
