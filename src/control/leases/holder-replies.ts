import type { AllowanceState, LeaseGrant, LeaseReply } from '../../shared/core/allowance.ts'
import type { ClockOffset } from './clock-offset.ts'
import type { ExchangeReply, LeaseUnit } from './lease-unit.ts'

interface Request {
  readonly sequence: number
  /** Allowances whose charges are not booked yet. */
  open: number
  readonly states: AllowanceState[]
}

/** What is on its way back to one holder. Its requests are acknowledged in their order, whichever was booked first. */
export class HolderReplies {
  readonly #requests: Request[] = []
  readonly #grants: LeaseGrant[] = []
  readonly #reclaims: Array<readonly [allowance: string, keep: number]> = []
  readonly #reclaimsOver: string[] = []

  expect(sequence: number, allowances: number): void {
    this.#requests.push({ sequence, open: allowances, states: [] })
  }

  /** The holder does not wait for any of it any more. */
  clear(): void {
    for (const list of [this.#requests, this.#grants, this.#reclaims, this.#reclaimsOver]) list.length = 0
  }

  add({ allowance, kind }: LeaseUnit, reply: ExchangeReply, requests: readonly number[], clocks: ClockOffset): void {
    const { used, left } = reply
    const state = { allowance, used, left: Math.max(0, left), emptyAtMs: clocks.toLocalMs(reply.emptyAtMs) }
    for (const request of this.#requests) {
      if (!requests.includes(request.sequence)) continue
      request.open -= 1
      request.states.push(state)
    }
    if (reply.outcome !== 'none') {
      const retryAtMs = reply.outcome === 'refused' ? clocks.toLocalMs(reply.retryAtMs) : 0
      const charged = kind === 'budget' ? { charged: reply.charged } : {}
      this.#grants.push({ ...state, ...charged, amount: reply.amount, retryAtMs })
    }
    if (reply.keep !== null) this.#reclaims.push([allowance, reply.keep])
    if (reply.reclaimOver) this.#reclaimsOver.push(allowance)
  }

  /** What can be said by now. */
  take(): LeaseReply[] {
    const replies: LeaseReply[] = []
    while (this.#requests[0]?.open === 0) {
      const { sequence, states } = this.#requests.shift() as Request
      replies.push({ type: 'lease-reply', sequence, states, grants: [], reclaims: [], reclaimsOver: [] })
    }
    const news = [this.#grants, this.#reclaims, this.#reclaimsOver]
    if (news.some((list) => list.length > 0)) {
      const [grants, reclaims, reclaimsOver] = [[...this.#grants], [...this.#reclaims], [...this.#reclaimsOver]]
      replies.push({ type: 'lease-reply', sequence: null, states: [], grants, reclaims, reclaimsOver })
      for (const list of news) list.length = 0
    }
    return replies
  }
}
