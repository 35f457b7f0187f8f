import { systemClock } from '../../shared/runtime/clock.ts'
import type { Clock } from '../../shared/runtime/clock.ts'
import type { Config } from '../../shared/config/shape.ts'
import { ControlLink } from '../../shared/link/control-link.ts'
import { MAX_MANAGEMENT_BODY_BYTES } from '../../shared/link/messages.ts'
import { createLogger } from '../../shared/telemetry/logger.ts'
import type { Logger } from '../../shared/telemetry/logger.ts'
import type { ControlSetup } from '../../supervisor/messages.ts'

/** The parts that every builder uses. */
export interface ControlBase {
  readonly setup: ControlSetup
  readonly config: Config
  readonly logger: Logger
  readonly clock: Clock
  readonly link: ControlLink
  readonly onFault: (cause: unknown) => void
}

export function buildBase(setup: ControlSetup): ControlBase {
  const { config, socketPath } = setup
  const logger = createLogger({ level: config.log.level, file: config.log.file, name: 'control' })
  const onFault = (cause: unknown): void => {
    logger.error({ err: cause }, 'the control process met an error')
  }
  const link = new ControlLink({ socketPath, maxBodyBytes: MAX_MANAGEMENT_BODY_BYTES, onFault })
  return { setup, config, logger, clock: systemClock, link, onFault }
}
