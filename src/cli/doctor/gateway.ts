import type { Config } from '../../shared/config/shape.ts'
import { failed, ok, reasonOf, skipped, warning } from './finding.ts'
import type { Finding } from './finding.ts'

const TIMEOUT_MS = 10_000
const CHECK = 'gateway'

/** Asks `/health` of the gateway on this data directory. @param holder its process id; null: it does not run */
export async function checkGateway({ server }: Config, holder: number | null): Promise<Finding> {
  if (holder === null) return skipped(CHECK, 'the gateway is not running')
  if (server.port === 0) return skipped(CHECK, 'its port is not known: the configuration says 0, any free port')
  const url = `${server.tls === null ? 'http' : 'https'}://${hostOf(server.host)}:${server.port}/health`
  let health: Record<string, unknown>
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    health = (await response.json()) as Record<string, unknown>
  } catch (cause) {
    // The certificate is issued for the public name, not for this address.
    if (server.tls !== null) return skipped(CHECK, `no answer from ${url}: ${reasonOf(cause)}`)
    return failed(CHECK, `${url} does not answer: ${reasonOf(cause)}`, `see the log of process ${holder}`)
  }
  const { status, reasons } = health
  if (status === 'healthy') return ok(CHECK, `${url} answers "healthy"`)
  const why = Array.isArray(reasons) ? reasons.join('; ') : '/health gives no reason'
  const fix = 'correct these causes; the checks below give details'
  return status === 'unhealthy'
    ? failed(CHECK, `serves no AI requests: ${why}`, fix)
    : warning(CHECK, `is degraded: ${why}`, fix)
}

/** The host of a URL for this machine: a server that listens on all addresses answers on the loopback address. */
function hostOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
