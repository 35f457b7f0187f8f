import type { Page } from 'playwright-core'

/** A picture of a page. */
export interface Shot {
  readonly name: string
  readonly path: () => string
  /** A visitor is not logged in. */
  readonly who?: 'empty' | 'visitor'
  /** For pages with a live stream, which are never idle: what is waited for. */
  readonly ready?: (page: Page) => Promise<void>
  /** Opens what has no address. */
  readonly act?: (page: Page) => Promise<void>
  readonly onDesktopOnly?: true
}
