import type { CapturedBodies } from '../capture/captured-bodies.ts'

/** The parts of captures that the management API uses. */
export interface CaptureParts {
  /** False: the configuration forbids capture. */
  readonly isAllowed: boolean
  readonly platformAdminsMayRead: boolean
  readonly bodies: CapturedBodies
  /** Bodies of a tenant are erased: their rows can be deleted. */
  readonly onErased: () => void
}
