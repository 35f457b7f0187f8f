import type { Config } from '../../shared/config/shape.ts'
import { failed, ok, reasonOf, skipped, warning } from './finding.ts'
import type { Finding } from './finding.ts'

const TIMEOUT_MS = 10_000
const CHECK = 'gateway'

/** Asks the `/health` of the gateway on this data directory. @param holder its process; null: it does not run */
export async function checkGateway({ server }: Config, holder: number | null): Promise<Finding> {
  if (holder === null) return skipped(CHECK, 'it is not running')
  if (server.port === 0) return skipped(CHECK, 'it listens on a port that the configuration does not name')
  const url = `${server.tls === null ? 'http' : 'https'}://${hostOf(server.host)}:${server.port}/health`
  let health: Record<string, unknown>
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    health = (await response.json()) as Record<string, unknown>
  } catch (cause) {
    // A certificate is made out for the public name, not for this address.
    if (server.tls !== null) return skipped(CHECK, `${url} cannot be asked: ${reasonOf(cause)}`)
    return failed(CHECK, `${url} does not answer: ${reasonOf(cause)}`, `see the log of process ${holder}`)
  }
  const { status, reasons } = health
  if (status === 'healthy') return ok(CHECK, `${url} says that it is healthy`)
  const why = Array.isArray(reasons) ? reasons.join('; ') : 'it does not say why'
  const fix = 'mend what it names, and see the checks below'
  return status === 'unhealthy'
    ? failed(CHECK, `serves no AI requests: ${why}`, fix)
    : warning(CHECK, `is impaired: ${why}`, fix)
}

/** Where a server that listens on all addresses is found on its own machine. */
function hostOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
