import { UpstreamReach } from '../../shared/core/upstream-reach.ts'
import { descriptorLimit, maxConnections } from '../../shared/runtime/descriptors.ts'
import { Credentials } from '../upstream/credentials.ts'
import { Http1Client } from '../upstream/http1/http1-client.ts'
import type { FrontBase } from './base.ts'

/** Fewer clients at a time than this are worth a warning. */
const FEW_CONNECTIONS = 1_000

export interface FrontUpstreams {
  /** Of clients; as many are kept for upstreams. */
  readonly maxConnections: number
  readonly reach: UpstreamReach
  readonly client: Http1Client
  readonly credentials: Credentials
}

export function buildUpstreams({ config, logger, clock, deadlines }: FrontBase): FrontUpstreams {
  const openFiles = descriptorLimit()
  const connections = maxConnections(openFiles, config.workers.threads)
  if (connections < FEW_CONNECTIONS) {
    logger.warn(
      { openFiles, connections },
      'few files may be open; raise the limit (ulimit -n) to take more connections',
    )
  }
  const reach = new UpstreamReach(config.management.privateUpstreams)
  const client = new Http1Client({ deadlines, reach, maxConnections: connections })
  return { maxConnections: connections, reach, client, credentials: new Credentials(client, clock) }
}
