import { PROMETHEUS_CONTENT_TYPE } from '../telemetry/prometheus-text.ts'
import { PlainAnswer } from './router.ts'
import type { ManagementRoute } from './router.ts'

/** `/metrics` on the public port: for admins, and for whoever has the configured token. */
export function metricsRoutes(render: () => string, secret: string | null): readonly ManagementRoute[] {
  return [
    {
      method: 'GET',
      path: '/metrics',
      allow: 'scraper',
      secret,
      handle: async () => new PlainAnswer(PROMETHEUS_CONTENT_TYPE, render()),
    },
  ]
}
