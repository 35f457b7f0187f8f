export interface Finding {
  readonly check: string
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped'
  readonly says: string
  /** The action for the operator; null: none is needed. */
  readonly fix: string | null
}

export const ok = (check: string, says: string): Finding => ({ check, status: 'ok', says, fix: null })
export const skipped = (check: string, says: string): Finding => ({ check, status: 'skipped', says, fix: null })
export const warning = (check: string, says: string, fix: string): Finding => ({ check, status: 'warning', says, fix })
export const failed = (check: string, says: string, fix: string): Finding => ({ check, status: 'failed', says, fix })

export function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  const inner: unknown = cause.cause
  return inner instanceof Error && inner.message !== '' ? inner.message : cause.message
}
