import { UpstreamBook } from '../../shared/config/upstream-book.ts'
import { simulatorUpstreams } from '../../shared/config/upstreams.ts'
import { PriceBook } from '../../shared/core/price-book.ts'
import { UpstreamReach } from '../../shared/core/upstream-reach.ts'
import { SnapshotFile } from '../../shared/link/snapshot-file.ts'
import { Seal } from '../../shared/runtime/seal.ts'
import { SnapshotGate } from '../fronts/snapshot-gate.ts'
import { SnapshotPublisher } from '../fronts/snapshot-publisher.ts'
import { UPSTREAM_SEAL } from '../store/upstreams.ts'
import type { ControlBase } from './base.ts'
import type { ControlStore } from './store.ts'

export interface ControlSnapshots {
  readonly book: UpstreamBook
  readonly seal: Seal
  readonly reach: UpstreamReach
  readonly prices: PriceBook
  /** Keeps snapshots back until limits can be had. */
  readonly gate: SnapshotGate
  readonly publisher: SnapshotPublisher
}

export function buildSnapshots(base: ControlBase, { database, secrets }: ControlStore): ControlSnapshots {
  const { setup, config, logger, link, onFault } = base
  const reach = new UpstreamReach(config.management.privateUpstreams)
  const book = new UpstreamBook({
    upstreams: config.upstreams,
    simulated: setup.simulatorPort === null ? [] : simulatorUpstreams(setup.simulatorPort),
    facts: config.models,
    groups: config.modelGroups,
    timeouts: config.upstream.timeouts,
    reach,
  })
  const seal = new Seal(secrets.keyHash, UPSTREAM_SEAL)
  const prices = new PriceBook()
  const gate = new SnapshotGate((snapshot) => {
    link.broadcast({ type: 'snapshot', snapshot })
  })
  const file = new SnapshotFile(setup.socketPath, secrets.keyHash)
  const publisher = new SnapshotPublisher({
    database,
    book,
    seal,
    mayCapture: config.capture.allowed,
    onProblem: (problem) => {
      logger.warn({ problem }, 'something stored of an upstream, a model or a budget cannot be used')
    },
    publish: (snapshot) => {
      prices.update(snapshot)
      gate.publish(snapshot)
      file.keep(snapshot, onFault)
    },
    onFault,
  })
  return { book, seal, reach, prices, gate, publisher }
}
