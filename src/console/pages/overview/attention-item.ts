import type { IconName } from '../../parts/icons.tsx'

/** A thing that somebody has to act on, and the place to do it. */
export interface AttentionItem {
  readonly id: string
  readonly tone: 'bad' | 'warn'
  readonly icon: IconName
  readonly text: string
  readonly href: string
}
