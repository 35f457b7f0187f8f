import type { LeaseReply } from '../../shared/core/allowance.ts'
import type { ControlToFront } from '../../shared/link/messages.ts'
import { repeat } from '../../shared/runtime/repeat.ts'
import { leavingFronts } from '../../supervisor/succession.ts'
import type { KeyHealthBoard } from '../fronts/key-health-board.ts'
import type { Authority, AuthorityOptions, SettledSpend } from '../leases/authority.ts'
import { readDepartedUse, writeDepartedUse } from '../leases/departed-use.ts'
import { InProcessAuthority } from '../leases/in-process-authority.ts'
import type { SharedLeases } from '../leases/shared-leases.ts'
import type { ControlBase } from './base.ts'

/** How long the fronts may take to tell what they hold, after a restart. */
const RESUME_GRACE_MS = 2_000
/** The same while a gateway hands over: its fronts serve meanwhile, and what one of them holds must not be granted again. */
const HAND_OVER_GRACE_MS = 5_000
const RESUME_LOOK_MS = 50

export interface LeaseNeeds {
  readonly node: string
  readonly budgets: SettledSpend
  readonly keyHealthEvents: KeyHealthBoard
  /** Limits can be had. */
  readonly onOpen: () => void
}

/** The authority over leases, in this process or in Redis, and how many fronts it knows. */
export class LeaseAuthority {
  readonly authority: Authority
  /** Null where one machine has its limits for itself. */
  readonly shared: SharedLeases | null
  readonly #base: ControlBase
  readonly #inProcess: InProcessAuthority | null
  readonly #fronts: FrontCount
  #toldHolders = 0

  private constructor(
    base: ControlBase,
    fronts: FrontCount,
    authorities: { readonly shared: SharedLeases | null; readonly inProcess: InProcessAuthority | null },
  ) {
    this.#base = base
    this.#fronts = fronts
    this.shared = authorities.shared
    this.#inProcess = authorities.inProcess
    this.authority = authorities.shared?.authority ?? (authorities.inProcess as InProcessAuthority)
  }

  static async build(base: ControlBase, needs: LeaseNeeds): Promise<LeaseAuthority> {
    const fronts = new FrontCount(base)
    if (base.config.redis.address === null) {
      return new LeaseAuthority(base, fronts, { shared: null, inProcess: await buildInProcess(base, fronts, needs) })
    }
    const lease: LeaseAuthority = new LeaseAuthority(base, fronts, {
      inProcess: null,
      shared: await buildShared(base, fronts, needs, () => lease.greeting()),
    })
    return lease
  }

  /** Returns the messages about leases for a front that connects. */
  greeting(): ControlToFront[] {
    const { epoch } = this.authority
    const holders = this.shared?.authority.holders ?? this.#fronts.holders
    return [{ type: 'lease-terms', holders }, ...(epoch === null ? [] : [{ type: 'lease-epoch', epoch } as const])]
  }

  /** Tells the fronts how many there are, if that has changed: while a gateway hands over there are more than later. */
  tellHolders(): void {
    const { holders } = this.#fronts
    if (this.shared !== null || holders === this.#toldHolders) return
    this.#toldHolders = holders
    this.#base.link.broadcast({ type: 'lease-terms', holders })
  }

  /** Begins to wait for the fronts that hold leases of an earlier control process. The authority grants once all have resumed, or in the end. */
  awaitFronts(): void {
    const look = repeat(
      RESUME_LOOK_MS,
      () => {
        this.#fronts.lookForLeaving()
        this.#inProcess?.openOnceResumed()
      },
      this.#base.onFault,
    )
    const stop = (): void => {
      clearInterval(look)
      this.#inProcess?.open()
      this.#fronts.expectOwn()
      this.tellHolders()
    }
    setTimeout(stop, this.#fronts.isHandOver ? HAND_OVER_GRACE_MS : RESUME_GRACE_MS).unref()
  }

  /** Resolves when Redis can be asked, or has been given time. At once without Redis. */
  async ready(): Promise<void> {
    await this.shared?.ready()
  }

  /** Keeps for the next authority what ended fronts used. */
  async keepDepartedUse(): Promise<void> {
    if (this.#inProcess === null) return
    const { config, onFault } = this.#base
    await writeDepartedUse(config.dataDir, this.#inProcess.departed()).catch(onFault)
  }
}

/** How many fronts there are, or are about to be. */
class FrontCount {
  readonly isHandOver: boolean
  /** Fronts that were there before this process hold leases of an earlier one. */
  readonly wereThereBefore: boolean
  readonly #base: ControlBase
  #expected: number

  constructor(base: ControlBase) {
    const { handedOverFronts, isRestart } = base.setup
    this.#base = base
    this.isHandOver = handedOverFronts > 0
    this.wereThereBefore = isRestart || this.isHandOver
    this.#expected = base.config.server.fronts + handedOverFronts
  }

  get holders(): number {
    return Math.max(this.#expected, this.#base.link.fronts)
  }

  lookForLeaving(): void {
    const { config } = this.#base
    this.#expected = config.server.fronts + leavingFronts(config.dataDir)
  }

  expectOwn(): void {
    this.#expected = this.#base.config.server.fronts
  }
}

function replyThrough({ link }: ControlBase): AuthorityOptions['reply'] {
  return (front: string, reply: LeaseReply) => {
    link.send(front, reply)
  }
}

async function buildInProcess(base: ControlBase, fronts: FrontCount, needs: LeaseNeeds): Promise<InProcessAuthority> {
  const { config, logger, clock } = base
  const departed = await readDepartedUse(config.dataDir).catch((cause: unknown) => {
    logger.warn({ err: cause }, 'what the gateway before used of limits cannot be read: it is not counted')
    return []
  })
  return new InProcessAuthority({
    clock,
    reply: replyThrough(base),
    holders: () => fronts.holders,
    closed: fronts.wereThereBefore,
    onOpen: needs.onOpen,
    budgets: needs.budgets,
    departed,
  })
}

/** Redis is loaded where it is used: it is a tenth of what a start loads. */
async function buildShared(
  base: ControlBase,
  fronts: FrontCount,
  { node, budgets, keyHealthEvents }: LeaseNeeds,
  greeting: () => ControlToFront[],
): Promise<SharedLeases> {
  const { config, logger, clock, link, onFault } = base
  const { address, keyPrefix: prefix } = config.redis
  const { SharedLeases } = await import('../leases/shared-leases.ts')
  return new SharedLeases({
    clock,
    reply: replyThrough(base),
    address: address as NonNullable<typeof address>,
    prefix,
    node,
    incarnation: Date.now(),
    fronts: () => fronts.holders,
    isRestart: fronts.wereThereBefore,
    budgets,
    onHere: () => {
      logger.info('limits are shared through Redis')
      for (const message of greeting()) link.broadcast(message)
    },
    onAway: (cause) => {
      logger.warn({ err: cause }, 'Redis is away: fronts go on with what they hold')
      link.broadcast({ type: 'lease-away' })
    },
    onHolders: (holders) => {
      link.broadcast({ type: 'lease-terms', holders })
    },
    onNews: (event) => {
      keyHealthEvents.add(event)
      link.broadcast({ type: 'key-news', news: event })
    },
    onConnectionError: (error) => {
      logger.debug({ err: error }, 'the Redis connection broke')
    },
    onFault,
  })
}
