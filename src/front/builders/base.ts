import { join } from 'node:path'
import { ConfigError } from '../../shared/config/config-error.ts'
import { loadSecrets } from '../../shared/config/secrets.ts'
import type { Secrets } from '../../shared/config/secrets.ts'
import type { Config } from '../../shared/config/shape.ts'
import type { Clock } from '../../shared/runtime/clock.ts'
import { systemClock } from '../../shared/runtime/clock.ts'
import { DeadlineClock } from '../../shared/runtime/deadlines.ts'
import { FrontLink } from '../../shared/link/front-link.ts'
import { createLogger } from '../../shared/telemetry/logger.ts'
import type { Logger } from '../../shared/telemetry/logger.ts'
import { Metrics } from '../../shared/telemetry/metrics.ts'
import type { FrontSetup } from '../../supervisor/messages.ts'
import { RequestMetrics } from '../gateway/request-metrics.ts'

/** The parts that every builder uses. */
export interface FrontBase {
  readonly config: Config
  readonly name: string
  readonly logger: Logger
  readonly onTimerFault: (cause: unknown) => void
  readonly secrets: Secrets
  readonly clock: Clock
  readonly deadlines: DeadlineClock
  readonly metrics: Metrics
  readonly requestMetrics: RequestMetrics
  readonly link: FrontLink
}

export function buildBase({ config, index, socketPath }: FrontSetup): FrontBase {
  const name = `front-${index}`
  const logger = createLogger({ level: config.log.level, file: config.log.file, name })
  const onTimerFault = (cause: unknown): void => {
    logger.error({ err: cause }, 'a timer failed')
  }
  const secrets = loadSecrets(config.dataDir, process.env)
  if (secrets === null) throw new ConfigError('is missing', { file: join(config.dataDir, 'secrets.json') })
  const clock = systemClock
  const deadlines = new DeadlineClock(clock)
  deadlines.start(onTimerFault)
  const metrics = new Metrics()
  const requestMetrics = new RequestMetrics(metrics)
  const link = new FrontLink({ socketPath, front: name, deadlines })
  return { config, name, logger, onTimerFault, secrets, clock, deadlines, metrics, requestMetrics, link }
}
